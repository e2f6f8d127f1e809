#!/usr/bin/env python3
"""Checks the pictures of the gallery: size, clipped white, contrast, size of files.

    python3 tools/check_gallery.py [docs/images] [--sheet sheet.png]

Needs numpy and Pillow. Pictures of paper and drawings may be white, sheets and wide strips may be low: MEANT says which and why.
Exits with 1 if a picture fails. `--sheet` draws all of them on one page, to look at.
"""

import argparse
import pathlib
import sys

import numpy as np
from PIL import Image, ImageDraw

LONGEST = 1080  # pixels along the longer side, at the least
WHITE = 0.005  # of all pixels may be clipped
CONTRAST = 0.05  # standard deviation of luminance, on the screen, at the least
BYTES = 1_500_000

MEANT = {}  # name: {"white": why it may be}


def look(path):
    picture = Image.open(path)
    picture.seek(0)
    pixels = np.asarray(picture.convert("RGB"), dtype=np.float32) / 255.0
    luminance = pixels @ np.array([0.2126, 0.7152, 0.0722], dtype=np.float32)
    return {
        "size": picture.size,
        "bytes": path.stat().st_size,
        "white": float((pixels.min(axis=2) >= 254.5 / 255).mean()),
        "contrast": float(luminance.std()),
        "bright": float(np.percentile(luminance, 99.5)),
    }


def faults(name, found):
    meant = MEANT.get(name, {})
    if max(found["size"]) < LONGEST:
        yield f"{max(found['size'])} pixels along its longer side, {LONGEST} are wanted"
    if found["white"] > WHITE and "white" not in meant:
        yield f"{100 * found['white']:.1f} % clipped white, at most {100 * WHITE} % are allowed"
    if found["contrast"] < CONTRAST:
        yield f"contrast {100 * found['contrast']:.1f} %, at least {100 * CONTRAST:.0f} % are wanted"
    if found["bytes"] > BYTES:
        yield f"{found['bytes']} bytes, at most {BYTES} are allowed"


def sheet(paths, out, width=320, height=240, columns=5):
    rows = -(-len(paths) // columns)
    page = Image.new("RGB", (columns * width, rows * (height + 16)), "#202020")
    draw = ImageDraw.Draw(page)
    for i, path in enumerate(paths):
        picture = Image.open(path).convert("RGB")
        picture.thumbnail((width, height))
        x, y = i % columns * width, i // columns * (height + 16)
        page.paste(picture, (x + (width - picture.width) // 2, y + 16))
        draw.text((x + 4, y + 2), path.stem, fill="#ffffff")
    page.save(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default="docs/images", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", help="names of pictures")
    parser.add_argument("--sheet", type=pathlib.Path, help="draw all pictures on one page")
    options = parser.parse_args()
    paths = sorted(path for path in options.folder.iterdir() if path.suffix in (".png", ".gif"))
    if options.only:
        paths = [path for path in paths if path.stem in options.only]
    failed = 0
    for path in paths:
        found = look(path)
        wrong = list(faults(path.stem, found))
        failed += bool(wrong)
        width, height = found["size"]
        print(
            f"{path.name:24} {width:5} x {height:<5} {found['bytes'] / 1e6:5.2f} MB"
            f"  white {100 * found['white']:5.2f} %  contrast {100 * found['contrast']:5.1f} %"
            f"  99.5th percentile {found['bright']:.2f}"
        )
        for fault in wrong:
            print(f"{'':24} {fault}")
    if options.sheet:
        sheet(paths, options.sheet)
    print(f"{failed} of {len(paths)} pictures fail" if failed else f"{len(paths)} pictures are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
