"""Pictures compared pixel by pixel, with a tolerance; Chromium decodes them, so no library is needed.

Two pixels agree when one of the nine around the same spot in the other picture has nearly the same color. So a glyph
that another version of Chromium sets a little further to the right agrees, and a color, a line or a word that
changed does not.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

# The greatest difference of a channel (0 to 255) of two pixels that agree.
CHANNEL = 48
# Pixels that may disagree: a few, and a share of a large picture.
FEW, SHARE = 10, 0.00003
# A picture may be this much larger or smaller, because the height of a line is rounded.
SIDE = 1

_COMPARE = """async ({ before, after, channel }) => {
  const read = async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    const { data: pixels, width, height } = context.getImageData(0, 0, image.width, image.height);
    return { canvas, context, data: pixels, width, height };
  };
  const [one, other] = [await read(before), await read(after)];
  const [width, height] = [Math.min(one.width, other.width), Math.min(one.height, other.height)];
  const agree = (a, i, b, j) =>
    Math.max(...[0, 1, 2].map((c) => Math.abs(a.data[i + c] - b.data[j + c]))) <= channel;
  const isNear = (a, b, x, y) => {
    const i = (y * a.width + x) * 4;
    if (agree(a, i, b, (y * b.width + x) * 4)) return true;
    for (let v = Math.max(0, y - 1); v <= Math.min(b.height - 1, y + 1); v += 1) {
      for (let u = Math.max(0, x - 1); u <= Math.min(b.width - 1, x + 1); u += 1) {
        if (agree(a, i, b, (v * b.width + u) * 4)) return true;
      }
    }
    return false;
  };
  let different = 0;
  other.context.fillStyle = "rgb(255 0 160)";
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      if (isNear(one, other, x, y) && isNear(other, one, x, y)) continue;
      different += 1;
      other.context.fillRect(x, y, 1, 1);
    }
  }
  const sizes = [[one.width, one.height], [other.width, other.height]];
  return { different, sizes, marked: other.canvas.toDataURL("image/png").split(",")[1] };
}"""


@dataclass(frozen=True)
class Comparison:
    """The number of pixels that disagree, both sizes, and the new picture with those pixels marked."""

    different: int
    before: tuple[int, int]
    after: tuple[int, int]
    marked: bytes

    @property
    def is_same(self) -> bool:
        """Whether a person would see the same picture."""
        sides = zip(self.before, self.after, strict=True)
        allowed = FEW + SHARE * self.before[0] * self.before[1]
        return all(abs(one - other) <= SIDE for one, other in sides) and self.different <= allowed

    def describe(self) -> str:
        """The difference in words."""
        if self.before != self.after:
            return f"{self.before[0]}x{self.before[1]} became {self.after[0]}x{self.after[1]}"
        return f"{self.different} of {self.before[0] * self.before[1]} pixels differ"


def compare(page: Page, before: bytes, after: bytes) -> Comparison:
    """Compare two PNG pictures in a page of a browser."""
    texts = [base64.b64encode(picture).decode() for picture in (before, after)]
    found = page.evaluate(_COMPARE, {"before": texts[0], "after": texts[1], "channel": CHANNEL})
    first, second = (tuple(size) for size in found["sizes"])
    return Comparison(found["different"], first, second, base64.b64decode(found["marked"]))


def keep(folder: Path, name: str, after: bytes, found: Comparison) -> Path:
    """Write the new picture, and the same with its differences marked, for people to look at."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.png").write_bytes(after)
    marked = folder / f"{name}.marked.png"
    marked.write_bytes(found.marked)
    return marked
