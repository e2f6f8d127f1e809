"""Loads a volume in Blender and prints what Blender makes of it. Called by blender.rs:

blender -b --factory-startup --python blender.py -- FILE.vdb
"""
import json
import sys

import bpy

path = sys.argv[sys.argv.index("--") + 1]
bpy.ops.object.volume_import(filepath=path)
object = bpy.context.object
volume = object.data
volume.grids.load()
bpy.context.view_layer.update()
corners = [list(object.matrix_world @ __import__("mathutils").Vector(corner)) for corner in object.bound_box]
print("SQUALL " + json.dumps({
    "error": volume.grids.error_message,
    "low": [min(c[a] for c in corners) for a in range(3)],
    "high": [max(c[a] for c in corners) for a in range(3)],
    "dimensions": list(object.dimensions),
    "velocity_grid": volume.velocity_grid,
    "grids": [
        {"name": g.name, "type": g.data_type, "channels": g.channels,
         "matrix": [list(row) for row in g.matrix_object]}
        for g in volume.grids
    ],
}))
