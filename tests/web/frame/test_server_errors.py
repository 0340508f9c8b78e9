"""The page of an object that a server refuses names the file and line of each problem."""

from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.web.reviews.pane.object_notices import present_notices
from tests.engine.planning.cluster import Box

MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: x\n  b: [1]\n"


def test_refused_object_tells_where_its_problems_stand():
    notice = present_notices(Box().plan_one(MANIFEST, ApplyOptions(mode=ApplyMode.CLIENT)))[0]

    assert notice.lines == ("app.yaml:7:3: data: a value of type array does not fit",)
