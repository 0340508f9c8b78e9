"""Four hundred texts that try to become code: every way out of a place, times every thing to run there.

Rule: a payload is a way out of the place where a text may stand (an attribute, an element, a comment, a
template) and a vector (an element, a handler, an address, a style). Whatever a page makes of them, each
must come out as a text.
"""

from __future__ import annotations

BREAKOUTS = (
    "",
    '"',
    "'",
    '">',
    "'>",
    "`>",
    "</textarea>",
    "</title>",
    "</script>",
    "</style>",
    "</template>",
    "-->",
    "]]>",
    "</pre></code>",
    "&quot;&gt;",
    "\\u0022\\u003e",
    "{{ 7|add:7 }}",
    '\x00">',
    '\u2028">',
    '\ud7ff\u202e">',
)
VECTORS = (
    "<script>window.hit=1</script>",
    "<script src=//hit.example/x.js></script>",
    "<img src=x onerror=window.hit=1>",
    "<svg onload=window.hit=1>",
    "<svg><animate onbegin=window.hit=1 attributeName=x dur=1s>",
    "<body onpageshow=window.hit=1>",
    "<iframe srcdoc='<script>parent.hit=1</script>'>",
    "<a href=javascript:window.hit=1>open</a>",
    "<math href=javascript:window.hit=1>open</math>",
    "<form action=javascript:window.hit=1><button>go</button></form>",
    "<details open ontoggle=window.hit=1>",
    "<input autofocus onfocus=window.hit=1>",
    "<style>@import 'javascript:window.hit=1';</style>",
    "<base href=//hit.example/>",
    "<meta http-equiv=refresh content='0;url=javascript:window.hit=1'>",
    "<p hx-get=/hit hx-trigger=load>",
    "<p hx-on:load=window.hit=1>",
    " onmouseover=window.hit=1 autofocus ",
    "javascript:window.hit=1//",
    '[open](javascript:window.hit=1) ![x](x" onerror=window.hit=1) <javascript:window.hit=1>',
)
PAYLOADS = tuple(breakout + vector for breakout in BREAKOUTS for vector in VECTORS)
