"""Loads a sequence of liquid surfaces (surface_0001.ply, surface_0002.ply, ...) into Blender 4.1 or later.

    blender --python scripts/blender_surface.py -- FOLDER [options]

or without a window, saving a file or rendering a picture:

    blender --background --python scripts/blender_surface.py -- FOLDER --save water.blend
    blender --background --python scripts/blender_surface.py -- FOLDER --frame 40 --render water.png

Inside Blender, paste the script into the text editor, set FOLDER below and press "Run Script".

There is ONE object, "surface". A new mesh is read for every frame when the frame changes, because the number of vertices
changes from frame to frame; only the mesh of the current frame is in memory. The handler that does so lives as long as Blender
runs: run the script again after opening the file again. With --bake each frame becomes an object of its own, shown at its frame
alone: larger, but the file then needs neither the script nor the PLY files.

What is set up:
  * z is up in Blender, y in the files: places, normals and velocities are turned.
  * Velocities (vx, vy, vz, in metres per second) become the point attribute "velocity", from which Cycles makes motion blur. How
    far that is in a frame depends on the frames per second of the scene: say --fps if it is not 24.
  * All other properties become float attributes of the same name, for use in materials.
  * A water material: clear, index of refraction 1.333.
"""

import argparse
import pathlib
import re
import sys

import bpy
import numpy as np

# Used if no folder is given, as in the text editor.
FOLDER = ""

NAME = "surface"
TYPES = {"float": "<f4", "float32": "<f4", "uint": "<u4", "uint32": "<u4"}


def read_ply(path):
    """Columns of the vertices by name, and the triangles, of a binary PLY file as Squall writes it."""
    with open(path, "rb") as file:
        columns, counts, element = [], {}, None
        while True:
            line = file.readline()
            if not line:
                raise ValueError(f"{path}: the header has no end")
            words = line.decode("ascii", "replace").split()
            if words[:1] == ["format"] and words[1] != "binary_little_endian":
                raise ValueError(f"{path}: not binary and little endian")
            if words[:1] == ["element"]:
                element = words[1]
                counts[element] = int(words[2])
            elif words[:1] == ["property"] and element == "vertex":
                columns.append((words[2], TYPES[words[1]]))
            elif words[:1] == ["end_header"]:
                break
        vertices = np.fromfile(file, np.dtype(columns), counts["vertex"])
        faces = np.fromfile(file, np.dtype([("n", "u1"), ("v", "<u4", 3)]), counts.get("face", 0))
    if len(vertices) != counts["vertex"] or len(faces) != counts.get("face", 0):
        raise ValueError(f"{path}: the file ends too early")
    return vertices, faces["v"]


def turned(vertices, names):
    """Three columns as vectors with z up: (x, y, z) becomes (x, -z, y)."""
    x, y, z = (vertices[name].astype(np.float32) for name in names)
    return np.stack([x, -z, y], axis=1)


def fill(mesh, path):
    """Makes a mesh of the content of a file."""
    vertices, triangles = read_ply(path)
    names = set(vertices.dtype.names)
    mesh.clear_geometry()
    mesh.vertices.add(len(vertices))
    mesh.loops.add(3 * len(triangles))
    mesh.polygons.add(len(triangles))
    if len(vertices):
        mesh.vertices.foreach_set("co", turned(vertices, ("x", "y", "z")).ravel())
    if len(triangles):
        mesh.loops.foreach_set("vertex_index", triangles.astype(np.int32).ravel())
        mesh.polygons.foreach_set("loop_start", np.arange(0, 3 * len(triangles), 3, dtype=np.int32))
        mesh.polygons.foreach_set("material_index", np.zeros(len(triangles), np.int32))
    mesh.update(calc_edges=True)
    if len(vertices) and {"vx", "vy", "vz"} <= names:
        velocity = mesh.attributes.new("velocity", "FLOAT_VECTOR", "POINT")
        velocity.data.foreach_set("vector", turned(vertices, ("vx", "vy", "vz")).ravel())
    for name in sorted(names - {"x", "y", "z", "nx", "ny", "nz", "vx", "vy", "vz"}):
        if len(vertices):
            attribute = mesh.attributes.new(name, "FLOAT", "POINT")
            attribute.data.foreach_set("value", vertices[name].astype(np.float32))
    # Last: whatever changes the mesh afterwards makes Blender forget them.
    if len(triangles):
        mesh.shade_smooth()
        if {"nx", "ny", "nz"} <= names:
            mesh.normals_split_custom_set_from_vertices(turned(vertices, ("nx", "ny", "nz")))


def water():
    """A material that looks like clear water."""
    material = bpy.data.materials.get("water") or bpy.data.materials.new("water")
    material.use_nodes = True
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    for name, value in {
        "Base Color": (1.0, 1.0, 1.0, 1.0),
        "Roughness": 0.0,
        "IOR": 1.333,
        "Transmission Weight": 1.0,
    }.items():
        shader.inputs[name].default_value = value
    # EEVEE bends light only if asked to.
    if hasattr(material, "use_raytrace_refraction"):
        material.use_raytrace_refraction = True
    return material


def find(folder):
    """The files of the sequence by frame."""
    found = {}
    for path in pathlib.Path(folder).expanduser().resolve().glob("surface_*.ply"):
        match = re.fullmatch(r"surface_(\d+)\.ply", path.name)
        if match:
            found[int(match[1])] = path
    if not found:
        raise SystemExit(f"no files surface_0001.ply and so on in {folder}")
    return found


def ensure_object(name):
    """The object of that name; a new one with an empty mesh unless it is there from before."""
    if name in bpy.data.objects:
        return bpy.data.objects[name]
    mesh = bpy.data.meshes.new(name)
    mesh.materials.append(water())
    thing = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(thing)
    return thing


def play(files):
    """One object that gets another mesh when the frame changes."""
    thing = ensure_object(NAME)
    shown = {"frame": None}

    def show(scene, _depsgraph=None):
        # Moments between frames are asked for by motion blur, which has the velocities.
        if scene.frame_current == shown["frame"] or scene.frame_subframe != 0.0:
            return
        shown["frame"] = scene.frame_current
        path = files.get(scene.frame_current)
        if path is None:
            thing.data.clear_geometry()
        else:
            fill(thing.data, path)

    show.__name__ = "squall_surface"
    # Running the script again replaces the handler of before.
    handlers = bpy.app.handlers.frame_change_pre
    for old in [handler for handler in handlers if handler.__name__ == "squall_surface"]:
        handlers.remove(old)
    handlers.append(show)
    return thing


def bake(files):
    """One object for each frame, shown at that frame alone."""
    for frame, path in sorted(files.items()):
        thing = ensure_object(f"{NAME}_{frame:04d}")
        fill(thing.data, path)
        for hidden, at in ((True, frame - 1), (False, frame), (True, frame + 1)):
            thing.hide_viewport = thing.hide_render = hidden
            thing.keyframe_insert("hide_viewport", frame=at)
            thing.keyframe_insert("hide_render", frame=at)


def main():
    arguments = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []
    parser = argparse.ArgumentParser(prog="blender_surface.py", description="Surfaces from Squall in Blender")
    parser.add_argument("folder", nargs="?", default=FOLDER, help="where surface_0001.ply and so on are")
    parser.add_argument("--fps", type=float, default=24.0, help="frames per second of the simulation (24)")
    parser.add_argument("--bake", action="store_true", help="one object per frame instead of a handler")
    parser.add_argument("--frame", type=int, help="the frame to show")
    parser.add_argument("--save", help="a .blend file to write")
    parser.add_argument("--render", help="a picture to render of the frame")
    options = parser.parse_args(arguments)
    if not options.fps > 0.0:
        parser.error("--fps must be positive")
    if not options.folder:
        parser.error("which folder? give it after --, or set FOLDER in the script")

    files = find(options.folder)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = min(files), max(files)
    # Blender has whole frames per second and a divisor.
    scene.render.fps = max(1, round(options.fps))
    scene.render.fps_base = scene.render.fps / options.fps
    scene.render.use_motion_blur = True
    (bake if options.bake else play)(files)
    scene.frame_set(min(files) if options.frame is None else options.frame)
    if options.save:
        bpy.ops.wm.save_as_mainfile(filepath=str(pathlib.Path(options.save).resolve()))
    if options.render:
        scene.render.filepath = str(pathlib.Path(options.render).resolve())
        bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    main()
