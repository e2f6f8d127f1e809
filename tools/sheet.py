#!/usr/bin/env python3
"""Puts frames of a run on one sheet, each with its time below.

    python3 tools/sheet.py out/formed_knot 1 20 40 60 80 96 --columns 3 --width 540 -o docs/images/formed_knot.png

    python3 tools/sheet.py out/psi_to_omega 1 12 24 40 72 120 --also out/psi_to_omega_paper --columns 6 --width 240 -o sheet.png

Frames are those of `frame_NNNN.png`; their times come from the run's scene. The same frames of other runs follow below. Needs Pillow.
"""

import argparse
import pathlib
import tomllib

from PIL import Image, ImageDraw, ImageFont


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=pathlib.Path, help="folder of a run")
    parser.add_argument("frames", nargs="+", type=int)
    parser.add_argument("--also", type=pathlib.Path, action="append", default=[], help="another run; may be repeated")
    parser.add_argument("--columns", type=int, default=3)
    parser.add_argument("--width", type=int, default=540, help="of each frame, in pixels")
    parser.add_argument("--captions", nargs="*", help="instead of times")
    parser.add_argument("--paper", default="#16181c", help="colour between the frames")
    parser.add_argument("--ink", default="#c8ccd2", help="colour of the captions")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    options = parser.parse_args()

    fps = tomllib.loads((options.run / "scene.toml").read_text())["time"]["fps"]
    runs = [options.run, *options.also]
    pictures = [Image.open(run / f"frame_{k:04}.png").convert("RGB") for run in runs for k in options.frames]
    height = round(options.width * pictures[0].height / pictures[0].width)
    captions = options.captions or [f"{k / fps:.1f} s" for k in options.frames] * len(runs)

    gap, size = 6, max(16, options.width // 24)
    line = size + 2 * gap
    font = ImageFont.load_default(size)
    rows = -(-len(pictures) // options.columns)
    wide = options.columns * (options.width + gap) + gap
    page = Image.new("RGB", (wide, rows * (height + line) + gap), options.paper)
    draw = ImageDraw.Draw(page)
    for i, (picture, caption) in enumerate(zip(pictures, captions)):
        x = gap + i % options.columns * (options.width + gap)
        y = gap + i // options.columns * (height + line)
        page.paste(picture.resize((options.width, height), Image.LANCZOS), (x, y))
        draw.text((x + gap, y + height + gap // 2), caption, fill=options.ink, font=font)
    page.save(options.out, optimize=True)


if __name__ == "__main__":
    main()
