use super::info::parse_info;
use super::read::parse;
use super::*;
use crate::test_folder::TestFolder;
use squall_core::Particles;
use squall_core::volume::{BLOCK, BLOCK_CELLS};

/// Numbers without pattern, about a third of them the background.
fn noise(seed: u32, background: f32) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 29 < 3 { background } else { (state >> 8) as f32 / 1e6 - 8.0 }
    }
}

fn volume(blocks: &[[i32; 3]], background: f32, mut value: impl FnMut() -> f32) -> Volume {
    let mut blocks = blocks.to_vec();
    blocks.sort_unstable();
    let values = (0..blocks.len() * BLOCK_CELLS).map(|_| value()).collect();
    Volume { origin: [0.25, -1.5, 3.0], spacing: 0.125, background, blocks, values }
}

/// Blocks on both sides of zero, in many nodes of each level.
const SCATTERED: [[i32; 3]; 9] = [
    [0, 0, 0],
    [-1, -1, -1],
    [0, 1, 0],
    [15, 16, 17],
    [-16, -17, 511],
    [-513, 512, 0],
    [100_000, -100_000, 7],
    [(1 << 28) - 1, -(1 << 28), 0],
    [0, 0, 1],
];

fn scalar(volume: &Volume) -> VdbGrid<'_> {
    VdbGrid {
        name: "density",
        values: VdbValues::Scalar(volume),
        class: VdbClass::FogVolume,
        precision: VdbPrecision::Full,
    }
}

fn written(grids: &[VdbGrid<'_>], compression: VdbCompression) -> Vec<u8> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let folder = TestFolder::new(&format!("vdb-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    let path = folder.join("a.vdb");
    let metadata = Metadata::from([("creator".into(), "Squall".into()), ("frame".into(), MetaValue::Int(7))]);
    write_vdb(&path, grids, &VdbOptions { compression, metadata }).unwrap();
    assert_eq!(folder.names(), ["a.vdb"], "nothing else is left behind");
    std::fs::read(&path).unwrap()
}

const ALL: [VdbCompression; 3] = [VdbCompression::Zip, VdbCompression::ActiveOnly, VdbCompression::None];

fn assert_same(a: &Volume, b: &Volume, what: &str) {
    assert!(a.blocks == b.blocks, "{what}: other blocks");
    let bits = |v: &Volume| v.values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert!(bits(a) == bits(b), "{what}: other values");
    assert_eq!(a.background.to_bits(), b.background.to_bits(), "{what}");
    assert_eq!(a.spacing, b.spacing, "{what}");
    for axis in 0..3 {
        // Half a cell is added and taken off again: two roundings.
        assert!((a.origin[axis] - b.origin[axis]).abs() <= 1e-15 * (1.0 + a.origin[axis].abs()), "{what}");
    }
}

fn only(bytes: &[u8]) -> VdbLoaded {
    let mut file = parse(bytes).unwrap();
    assert_eq!((file.grids.len(), file.skipped.len()), (1, 0));
    file.grids.remove(0)
}

fn only_scalar(bytes: &[u8]) -> Volume {
    match only(bytes).values {
        VdbValues::Scalar(volume) => volume,
        VdbValues::Vector(_) => panic!("a vector"),
    }
}

#[test]
fn every_bit_of_a_scalar_survives_under_every_compression() {
    for background in [0.0, -0.0, 3.5, f32::NAN] {
        let before = volume(&SCATTERED, background, noise(1, background));
        for compression in ALL {
            let after = only_scalar(&written(&[scalar(&before)], compression));
            assert_same(&before, &after, &format!("{compression:?}, background {background}"));
        }
    }
}

#[test]
fn special_values_are_written_as_they_are() {
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MIN_POSITIVE / 2.0, f32::MAX, 0.0];
    let mut i = 0;
    let before = volume(&[[-3, 2, 5]], 0.0, || {
        i += 1;
        odd[i % odd.len()]
    });
    for compression in ALL {
        assert_same(&before, &only_scalar(&written(&[scalar(&before)], compression)), "special");
    }
    let info = parse_info(&written(&[scalar(&before)], VdbCompression::Zip)).unwrap();
    let values = info.grids[0].values.as_ref().unwrap();
    let count = |wanted: fn(&f32) -> bool| before.values.iter().filter(|v| wanted(v)).count() as u64;
    assert_eq!(values.not_finite, count(|v| !v.is_finite()));
    assert_eq!(info.grids[0].active_voxels, Some(count(|v| v.to_bits() != 0)), "-0 and NaN count, 0 does not");
}

#[test]
fn half_floats_are_the_nearest() {
    let before = volume(&SCATTERED, 0.1, noise(2, 0.1));
    for compression in ALL {
        let grid = VdbGrid { precision: VdbPrecision::Half, ..scalar(&before) };
        let bytes = written(&[grid], compression);
        let after = only(&bytes);
        assert_eq!(after.precision, VdbPrecision::Half);
        let VdbValues::Scalar(after) = after.values else { panic!("a vector") };
        let rounded = |v: f32| half::f16::from_f32(v).to_f32();
        let expected = Volume {
            background: rounded(0.1),
            values: before.values.iter().map(|&v| rounded(v)).collect(),
            ..before.clone()
        };
        assert_same(&expected, &after, &format!("{compression:?}"));
    }
}

#[test]
fn components_with_other_blocks_are_filled_with_their_background() {
    let parts = [
        volume(&[[0, 0, 0], [4, 4, 4]], 0.0, noise(3, 0.0)),
        volume(&[[0, 0, 0], [-9, 0, 0]], 1.0, noise(4, 1.0)),
        volume(&[], -2.0, || 0.0),
    ];
    for precision in [VdbPrecision::Full, VdbPrecision::Half] {
        for compression in ALL {
            let grid = VdbGrid {
                name: "velocity",
                values: VdbValues::Vector(parts.each_ref()),
                class: VdbClass::Staggered,
                precision,
            };
            let after = only(&written(&[grid], compression));
            assert_eq!((after.class, after.name.as_str()), (VdbClass::Staggered, "velocity"));
            assert_eq!(after.metadata["vector_type"], "contravariant relative".into());
            let VdbValues::Vector(after) = after.values else { panic!("a scalar") };
            for (before, after) in parts.iter().zip(&after) {
                assert_eq!(after.blocks, [[-9, 0, 0], [0, 0, 0], [4, 4, 4]]);
                for block in &after.blocks {
                    for i in 0..BLOCK_CELLS as i32 {
                        let cell = [block[0] * 8 + i % 8, block[1] * 8 + i / 8 % 8, block[2] * 8 + i / 64];
                        let (a, b) = (before.get(cell), after.get(cell));
                        // Values reach 10: half floats there are 1/128 apart, so rounding is off by half of that at most.
                        let tolerance = if precision == VdbPrecision::Full { 0.0 } else { 1.0 / 256.0 };
                        assert!((a - b).abs() <= tolerance, "{cell:?}: {a} became {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_level_set_has_an_inactive_inside() {
    let background = 0.75;
    let mut before = volume(&[[0, 0, 0], [1, 0, 0], [2, 0, 0]], background, || 0.0);
    for (b, values) in before.values.chunks_mut(BLOCK_CELLS).enumerate() {
        for (i, value) in values.iter_mut().enumerate() {
            // A front across x near the end of the second block; all of the first lies deep inside.
            let distance = ((b * BLOCK + i % BLOCK) as f32 - 14.0) * 0.125;
            *value = distance.clamp(-background, background);
        }
    }
    for precision in [VdbPrecision::Full, VdbPrecision::Half] {
        for compression in ALL {
            let bytes = written(&[VdbGrid { class: VdbClass::LevelSet, precision, ..scalar(&before) }], compression);
            assert_same(&before, &only_scalar(&bytes), "level set");
            let info = parse_info(&bytes).unwrap();
            let inside = |v: &&f32| v.abs() < background;
            assert_eq!(info.grids[0].active_voxels, Some(before.values.iter().filter(inside).count() as u64));
            assert_eq!(info.grids[0].values.as_ref().unwrap().leaves, 2, "the first block is one value");
        }
    }
}

/// The distance to a ball of `radius` blocks around `centre` (in blocks), only where the surface is near.
fn ball(centre: [f32; 3], radius: f32, background: f32) -> Volume {
    let mut ball = volume(&[], background, || 0.0);
    let [low, high]: [[i32; 3]; 2] = [-1.0, 1.0].map(|s| centre.map(|c| (c + s * (radius + 1.0)).floor() as i32));
    for n in 0..(0..3).map(|a| high[a] - low[a] + 1).product() {
        let [ny, nz] = [high[1] - low[1] + 1, high[2] - low[2] + 1];
        let block = [low[0] + n / (ny * nz), low[1] + n / nz % ny, low[2] + n % nz];
        let distance = |i: usize| {
            let within = [i % BLOCK, i / BLOCK % BLOCK, i / (BLOCK * BLOCK)];
            let away = |a: usize| block[a] as f32 + (within[a] as f32 + 0.5) / BLOCK as f32 - centre[a];
            ((0..3).map(|a| away(a).powi(2)).sum::<f32>().sqrt() - radius).clamp(-background, background)
        };
        let values: Vec<f32> = (0..BLOCK_CELLS).map(distance).collect();
        if values.iter().any(|v| v.abs() < background) {
            ball.blocks.push(block);
            ball.values.extend(values);
        }
    }
    ball
}

#[test]
fn what_nobody_stored_inside_a_level_set_is_inside() {
    for (centre, radius) in [([0.0; 3], 3.5), ([-20.3, 511.8, 7.1], 6.2)] {
        let ball = ball(centre, radius, 0.4);
        for compression in ALL {
            let bytes = written(&[VdbGrid { class: VdbClass::LevelSet, ..scalar(&ball) }], compression);
            let back = only_scalar(&bytes);
            let mut filled = 0;
            for (b, block) in back.blocks.iter().enumerate() {
                match ball.blocks.binary_search(block) {
                    Ok(stored) => assert_eq!(back.block(b), ball.block(stored)),
                    Err(_) => {
                        let away = |a: usize| block[a] as f32 + 0.5 - centre[a];
                        assert!((0..3).map(|a| away(a).powi(2)).sum::<f32>().sqrt() < radius, "{block:?}");
                        assert!(back.block(b).iter().all(|&v| v == -0.4));
                        filled += 1;
                    }
                }
            }
            assert_eq!(filled + ball.blocks.len(), back.blocks.len());
            // Whatever is further in than a band and the diagonal of a block lies in blocks that nobody stored.
            let core = 4.0 / 3.0 * std::f32::consts::PI * (radius - 0.4 - 3.0_f32.sqrt()).powi(3);
            assert!(filled as f32 > core, "{filled}");
        }
    }
}

#[test]
fn a_bubble_in_a_level_set_stays_outside_and_nodes_deep_inside_are_one_value() {
    // Two shells around one middle: water between them, air within the smaller.
    let background = 0.4;
    let (outer, mut inner) = (ball([8.0; 3], 31.0, background), ball([8.0; 3], 3.0, background));
    inner.values.iter_mut().for_each(|v| *v = -*v);
    let mut both: Vec<([i32; 3], &[f32])> = Vec::new();
    for volume in [&outer, &inner] {
        both.extend(volume.blocks.iter().enumerate().map(|(b, block)| (*block, volume.block(b))));
    }
    both.sort_unstable_by_key(|(block, _)| *block);
    let water = Volume {
        blocks: both.iter().map(|(block, _)| *block).collect(),
        values: both.iter().flat_map(|(_, values)| values.iter().copied()).collect(),
        ..outer.clone()
    };
    let bytes = written(&[VdbGrid { class: VdbClass::LevelSet, ..scalar(&water) }], VdbCompression::Zip);
    let missing = inside::missing_inside(&water);
    assert!(!missing.contains(&[8; 3]), "the middle of the bubble");
    assert!(missing.contains(&[8, 8, 15]) && missing.contains(&[-8, 8, 8]), "water");
    // A hundred thousand blocks are too many to be spread over cells here; as values they are a few nodes.
    assert!(missing.len() > 100_000 && bytes.len() < water.values.len() * 4 + 2_000_000, "{}", bytes.len());
    let info = parse_info(&bytes).unwrap();
    assert_eq!(info.grids[0].values.as_ref().unwrap().leaves, water.blocks.len());
}

#[test]
fn empty_grids_and_blocks_of_background_are_fine() {
    let empty = volume(&[], 2.0, || 0.0);
    let blank = volume(&[[1, 2, 3]], 2.0, || 2.0);
    for volume in [&empty, &blank] {
        for compression in ALL {
            let bytes = written(&[scalar(volume)], compression);
            assert_same(&empty, &only_scalar(&bytes), "empty");
            let info = parse_info(&bytes).unwrap();
            assert_eq!((info.grids[0].active_voxels, info.grids[0].bounds), (Some(0), None));
            assert_eq!(info.grids[0].metadata["file_bbox_min"], MetaValue::Ints([i32::MAX; 3]));
        }
    }
    let file = parse(&written(&[], VdbCompression::Zip)).unwrap();
    assert!(file.grids.is_empty());
    assert_eq!(file.metadata["creator"], "Squall".into());
}

#[test]
fn active_is_what_differs_from_the_background_cell_by_cell() {
    let mut before = volume(&[[0, 0, 0], [-1, 0, 2]], 1.0, || 1.0);
    before.values[0] = 2.0; // block [-1, 0, 2], cell [-8, 0, 16]
    before.values[BLOCK_CELLS + 3 + 8 * 4 + 64 * 5] = 3.0; // block [0, 0, 0], cell [3, 4, 5]
    let info = parse_info(&written(&[scalar(&before)], VdbCompression::Zip)).unwrap();
    let grid = &info.grids[0];
    assert_eq!(grid.active_voxels, Some(2));
    assert_eq!(grid.bounds, Some(([-8, 0, 5], [3, 4, 16])));
    assert_eq!(grid.metadata["file_bbox_min"], MetaValue::Ints([-8, 0, 5]));
    assert_eq!(grid.metadata["file_bbox_max"], MetaValue::Ints([3, 4, 16]));
    assert_eq!(grid.metadata["file_voxel_count"], MetaValue::Long(2));
    assert_eq!(grid.values.as_ref().unwrap().ranges, [Some((2.0, 3.0))]);
}

#[test]
fn volumes_with_z_up_are_set_upright() {
    let mut values = vec![0.0; 4 * 9 * 10];
    // The cell x = 1, y = 8, z = 2.
    values[1 + 4 * (8 + 9 * 2)] = 7.0;
    let lying = Volume::from_dense([10.0, 20.0, 30.0], 0.5, 0.0, [4, 9, 10], &values);
    let bytes = written(&[scalar(&lying)], VdbCompression::Zip);
    let file = parse(&bytes).unwrap().upright();
    let VdbValues::Scalar(standing) = &file.grids[0].values else { panic!("numbers") };
    assert_eq!(standing.get([1, 2, -9]), 7.0);
    assert_eq!(standing.values.iter().filter(|v| **v != 0.0).count(), 1);
    // Middle of the cell: (10.75, 24.25, 31.25) becomes (10.75, 31.25, -24.25).
    let middle = |a: usize, i: i32| standing.origin[a] + 0.5 * (f64::from(i) + 0.5);
    assert_eq!([middle(0, 1), middle(1, 2), middle(2, -9)], [10.75, 31.25, -24.25]);
}

#[test]
fn a_unit_box_lands_on_the_unit_box() {
    let dense = Volume::from_dense([0.0; 3], 1.0 / 16.0, 0.0, [16; 3], &[1.0; 4096]);
    let info = parse_info(&written(&[scalar(&dense)], VdbCompression::Zip)).unwrap();
    let (low, high) = info.grids[0].bounds.unwrap();
    let transform = info.grids[0].transform.as_ref().unwrap();
    assert_eq!(transform.bounds(low, high), ([0.0; 3], [1.0; 3]));
    assert_eq!(transform.translation, [0.5 / 16.0; 3], "the centre of the first cell");
    assert_eq!(transform.voxel_size(), [1.0 / 16.0; 3]);
}

#[test]
fn equal_grids_are_equal_bytes_on_any_number_of_threads() {
    let blocks: Vec<[i32; 3]> = (0..700).map(|i| [i % 9 - 4, i / 9 % 9, i / 81]).collect();
    let a = volume(&blocks, 0.0, noise(5, 0.0));
    let b = volume(&blocks, 0.0, || 1.0);
    let bytes = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let grids = [scalar(&a), VdbGrid { name: "temperature", ..scalar(&b) }];
        pool.install(|| written(&grids, VdbCompression::Zip))
    };
    let one = bytes(1);
    assert!([1, 2, 3, 7].into_iter().all(|threads| bytes(threads) == one));

    let mut other = a.clone();
    *other.values.last_mut().unwrap() += 1.0;
    let uuid = |bytes: &[u8]| parse_info(bytes).unwrap().uuid;
    let [first, second] = [&a, &other].map(|v| uuid(&written(&[scalar(v)], VdbCompression::Zip)));
    assert_ne!(first, second);
    assert!(first.len() == 36 && first.split('-').map(str::len).eq([8, 4, 4, 4, 12]), "{first}");
}

#[test]
fn volumes_that_make_no_sense_are_refused_by_name() {
    let good = volume(&[[0, 0, 0], [1, 0, 0]], 0.0, || 1.0);
    let folder = TestFolder::new("vdb-refused");
    type Spoil = fn(&mut Volume);
    let cases: [(&str, Spoil); 6] = [
        ("nowhere", |v| v.spacing = 0.0),
        ("nowhere", |v| v.origin[1] = f64::NAN),
        ("values for 2 blocks", |v| v.values.truncate(9)),
        ("ascending", |v| v.blocks.swap(0, 1)),
        ("each once", |v| v.blocks[1] = v.blocks[0]),
        ("too far out", |v| v.blocks[1][0] = 1 << 28),
    ];
    for (expected, spoil) in cases {
        let mut bad = good.clone();
        spoil(&mut bad);
        let error = write_vdb(folder.join("a.vdb"), &[scalar(&bad)], &VdbOptions::default()).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("`density`") && error.contains("a.vdb"), "{error}");
    }
    let scattered = volume(&SCATTERED, 1.0, || 0.5);
    let moved = Volume { origin: [9.0; 3], ..good.clone() };
    for (expected, grids) in [
        ("two grids of this name", vec![scalar(&good), scalar(&good)]),
        ("staggered", vec![VdbGrid { class: VdbClass::Staggered, ..scalar(&good) }]),
        ("name that a grid can have", vec![VdbGrid { name: "", ..scalar(&good) }]),
        ("must be positive", vec![VdbGrid { class: VdbClass::LevelSet, ..scalar(&good) }]),
        ("cannot be told", vec![VdbGrid { class: VdbClass::LevelSet, ..scalar(&scattered) }]),
        ("same cells", vec![VdbGrid { values: VdbValues::Vector([&good, &good, &moved]), ..scalar(&good) }]),
    ] {
        let error = write_vdb(folder.join("a.vdb"), &grids, &VdbOptions::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(folder.names().is_empty());
}

mod hostile;

#[test]
fn points_are_told_of_and_left_out_where_volumes_are_read() {
    let folder = TestFolder::new("vdb-points");
    let path = folder.join("a.vdb");
    let particles = |places: &[[f32; 3]]| Particles {
        ids: (0..places.len() as u64).collect(),
        positions: (0..3).map(|a| places.iter().map(|p| p[a]).collect()).collect(),
        velocities: vec![vec![1.0; places.len()]; 3],
        attributes: vec![("ink".into(), vec![0.5; places.len()])],
    };
    let points = VdbPoints { name: "points", origin: [0.5, 0.0, 0.0], spacing: 0.5, radius: 0.1, up: crate::UpAxis::Y };
    let two = particles(&[[0.25, 0.25, 0.25], [2.0, 0.25, -8.0]]);
    write_vdb_points(&path, &two, &points, &Metadata::new()).unwrap();
    let info = read_vdb_info(&path).unwrap();
    let [grid] = info.grids.as_slice() else { panic!("{info:?}") };
    assert_eq!((grid.kind.as_str(), grid.active_voxels), ("ptdataidx32", Some(2)));
    assert_eq!(grid.bounds, Some(([-1, 0, -16], [3, 0, 0])));
    assert_eq!(read_vdb(&path).unwrap().skipped, [("points".to_owned(), "Tree_ptdataidx32_5_4_3".to_owned())]);

    write_vdb_points(&path, &particles(&[]), &points, &Metadata::new()).unwrap();
    assert_eq!(read_vdb_info(&path).unwrap().grids[0].active_voxels, Some(0));

    let bad = [
        (particles(&[[1e12, 0.0, 0.0]]), points, "particle 0 is too far out"),
        (particles(&[[f32::NAN, 0.0, 0.0]]), points, "\"x\" of particle 0 is NaN"),
        (two.clone(), VdbPoints { spacing: 0.0, ..points }, "nowhere"),
        (two.clone(), VdbPoints { name: "", ..points }, "not a name"),
        (Particles { ids: vec![0, 1 << 31], ..two }, points, "beyond 31 bits"),
    ];
    for (particles, points, expected) in bad {
        let message = write_vdb_points(&path, &particles, &points, &Metadata::new()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
