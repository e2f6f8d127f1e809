"""Checks files of Squall with OpenVDB itself, and writes one for Squall to read. Called by openvdb.rs.

usage: openvdb.py probe | check EXPECTED.json | write FOLDER
"""
import json
import struct
import sys

import pyopenvdb as vdb


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def check(expected):
    grids, metadata = vdb.readAll(expected["path"])
    assert metadata["creator"] == "Squall" and metadata["frame"] == 7, metadata
    grids = {grid.name: grid for grid in grids}
    assert sorted(grids) == sorted(e["name"] for e in expected["grids"]), list(grids)
    for want in expected["grids"]:
        grid = grids[want["name"]]
        where = want["name"]
        assert str(grid.gridClass) == want["class"], (where, grid.gridClass)
        assert grid.saveFloatAsHalf == want["half"], where
        assert grid.activeVoxelCount() == want["active"], (where, grid.activeVoxelCount())
        assert grid.leafCount() == want["leaves"], (where, grid.leafCount())
        if want["active"]:
            assert [list(c) for c in grid.evalActiveVoxelBoundingBox()] == want["bbox"], where
        low = grid.transform.indexToWorld((0, 0, 0))
        assert list(low) == want["centre"], (where, low)
        assert list(grid.transform.voxelSize()) == [want["spacing"]] * 3, where
        if want["vector"]:
            assert str(grid.vectorType) == "contravariant relative", (where, grid.vectorType)
        read = grid.getConstAccessor()
        for cell, value, active in want["cells"]:
            got, is_active = read.probeValue(tuple(cell))
            got = [bits(v) for v in got] if want["vector"] else [bits(got)]
            assert got == value and is_active == active, (where, cell, got, value, is_active)
        # What the file tells about itself is what OpenVDB finds out.
        told = {k: grid.metadata[k] for k in ("file_voxel_count", "file_bbox_min", "file_bbox_max")}
        grid.addStatsMetadata()
        assert told == {k: grid.metadata[k] for k in told}, (where, told)


def write(folder):
    """Values that Squall can compute as well; see `what_openvdb_writes_is_read`."""
    density = vdb.FloatGrid(background=0.5)
    density.name = "density"
    density.gridClass = vdb.GridClass.FOG_VOLUME
    density.transform = vdb.createLinearTransform(0.25)
    density.transform.translate((1.0, 2.0, 3.0))
    accessor = density.getAccessor()
    for x in range(-20, 20):
        for y in range(-3, 12):
            for z in range(0, 30):
                if (x + y + z) % 3:
                    accessor.setValueOn((x, y, z), x + y / 8.0 + z / 64.0)
    # A region of one value: two blocks along x, one level up from leaves.
    density.fill((128, 0, 0), (143, 7, 7), 9.0, True)
    density.prune()

    half = density.deepCopy()
    half.name = "half"
    half.saveFloatAsHalf = True

    velocity = vdb.Vec3SGrid()
    velocity.name = "velocity"
    velocity.gridClass = vdb.GridClass.STAGGERED
    velocity.transform = vdb.createLinearTransform(0.25)
    accessor = velocity.getAccessor()
    for x in range(-9, 9):
        for y in range(9):
            for z in range(9):
                accessor.setValueOn((x, y, z), (float(x), float(y), float(z)))

    sphere = vdb.createLevelSetSphere(radius=1.0, voxelSize=0.05, halfWidth=3.0)
    sphere.name = "sphere"
    mask = vdb.BoolGrid()
    mask.name = "mask"
    mask.fill((0, 0, 0), (3, 3, 3), True, True)
    vdb.write(folder + "/theirs.vdb", [density, half, velocity, sphere, mask], {"creator": "OpenVDB"})


match sys.argv[1]:
    case "probe":
        print(vdb.LIBRARY_VERSION)
    case "check":
        with open(sys.argv[2]) as file:
            check(json.load(file))
    case "write":
        write(sys.argv[2])
