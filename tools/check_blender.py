"""Loads what a run of Squall wrote into Blender and prints what Blender makes of it: volumes through their .usda, and the
multi-layer EXR. Wrong values end it with an error.

    pip install bpy                      # Blender as a Python module; or: blender -b -P tools/check_blender.py -- RUN
    python tools/check_blender.py RUN [--low x y z --high x y z]

RUN is the folder of a finished run with volumes. What is expected (frame range, fps, grids, axis that is up) is read from
its squall.json, scene.toml and volume.usda. With --low and --high, in metres and with y up as in the scene, the smoke of the last
frame must lie within that box.
"""
import argparse
import glob
import json
import os
import re
import sys

import bpy
from mathutils import Vector

arguments = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else sys.argv[1:]
parser = argparse.ArgumentParser()
parser.add_argument("run")
parser.add_argument("--low", nargs=3, type=float)
parser.add_argument("--high", nargs=3, type=float)
given = parser.parse_args(arguments)
run = os.path.abspath(given.run)
failures = []


def expect(what, seen, wanted):
    same = seen == wanted
    print(f"{'ok  ' if same else 'WRONG'} {what}: {seen}" + ("" if same else f", not {wanted}"))
    if not same:
        failures.append(what)


def usd_value(text, key):
    return re.search(rf"^\s*{key} = \"?([^\"\n]+)\"?$", text, re.M).group(1)


print("Blender", bpy.app.version_string)
bpy.ops.wm.read_factory_settings(use_empty=True)

# Volumes.
usda = os.path.join(run, "volume.usda")
with open(usda) as file:
    text = file.read()
with open(os.path.join(run, "squall.json")) as file:
    manifest = json.load(file)
bpy.ops.wm.usd_import(filepath=usda, set_frame_range=True)
scene = bpy.context.scene
first, last = int(usd_value(text, "startTimeCode")), int(usd_value(text, "endTimeCode"))
expect("frame range", [scene.frame_start, scene.frame_end], [first, last])
expect("fps", round(scene.render.fps / scene.render.fps_base, 3), round(manifest["fps"], 3))
volumes = [o for o in bpy.data.objects if o.type == "VOLUME"]
expect("volume objects", len(volumes), 1)
volume = volumes[0]
data = volume.data
expect("is a sequence", data.is_sequence, True)
expect("frames of the sequence", [data.frame_start, data.frame_duration], [first, last - first + 1])
names = re.findall(r"token fieldName = \"(.+)\"", text)
up = usd_value(text, "upAxis")
boxes = []
for frame in (first, last):
    scene.frame_set(frame)
    data.grids.load()
    expect(f"frame {frame}: error", data.grids.error_message, "")
    expect(f"frame {frame}: file", os.path.basename(data.grids.frame_filepath), f"volume_{frame:04}.vdb")
    expect(f"frame {frame}: grids", sorted(g.name for g in data.grids), sorted(names))
    bpy.context.view_layer.update()
    # The object that is evaluated has the bounds of this frame.
    seen = volume.evaluated_get(bpy.context.evaluated_depsgraph_get())
    corners = [seen.matrix_world @ Vector(c) for c in seen.bound_box]
    low = [round(min(c[a] for c in corners), 4) for a in range(3)]
    high = [round(max(c[a] for c in corners), 4) for a in range(3)]
    boxes.append((low, high))
    print(f"     frame {frame}: bounding box in Blender (z up), metres: {low} to {high}")
if given.low and given.high:
    # (x, y, z) of the scene is (x, -z, y) in Blender.
    turn = lambda p: [p[0], -p[2], p[1]]
    a, b = turn(given.low), turn(given.high)
    inside = all(min(a[i], b[i]) - 1e-3 <= boxes[-1][0][i] and boxes[-1][1][i] <= max(a[i], b[i]) + 1e-3 for i in range(3))
    expect("the smoke lies in the box", inside, True)
    size = [boxes[-1][1][i] - boxes[-1][0][i] for i in range(3)]
    print("     size:", [round(v, 4) for v in size], "up axis of the files:", up)
for grid in data.grids:
    print(f"     grid {grid.name}: {grid.data_type}, {grid.channels} channels")
print("     velocity grid:", data.velocity_grid, "unit:", data.velocity_unit)
try:
    import openvdb
except ImportError:
    try:
        import pyopenvdb as openvdb
    except ImportError:
        openvdb = None
if openvdb:
    for grid in openvdb.readAll(os.path.join(run, f"volume_{last:04}.vdb"))[0]:
        low, high = grid.evalActiveVoxelBoundingBox()
        print(f"     OpenVDB {grid.name}: {grid.activeVoxelCount()} active voxels in {tuple(low)} to {tuple(high)}")

# Pictures with passes.
pictures = sorted(glob.glob(os.path.join(run, "frame_*.exr")))
if pictures:
    image = bpy.data.images.load(pictures[-1])
    scene.use_nodes = True
    node = scene.node_tree.nodes.new("CompositorNodeImage")
    node.image = image
    image.source = "SEQUENCE"
    node.frame_duration = len(pictures)
    shown = [socket.name for socket in node.outputs if not socket.is_unavailable]
    print("     sockets of the compositor's image node:", shown)
    kinds = {socket.name: socket.type for socket in node.outputs}
    for name, kind in (("Combined", "RGBA"), ("Depth", "VALUE"), ("Normal", "VECTOR"), ("Motion", "VECTOR")):
        if name in kinds:
            expect(f"socket {name}", kinds[name], kind)
    expect("Combined and Depth are shown", {"Combined", "Depth"} <= set(shown), True)

print(f"{len(failures)} failures" if failures else "all as expected")
sys.exit(1 if failures else 0)
