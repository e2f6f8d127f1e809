//! Files that are damaged, or made to do harm.

use super::super::tree::{LOWER, UPPER, set};
use super::super::wire::{put_text, put_u32};
use super::*;

/// Reads in every way there is. What comes out does not matter, that something does.
fn read_all_ways(bytes: &[u8]) -> bool {
    let info = parse_info(bytes);
    parse(bytes).is_ok() && info.is_ok()
}

/// Small files of each kind: 10 to 40 kB, most of it masks.
fn samples() -> Vec<Vec<u8>> {
    let a = volume(&[[0, 0, 0], [1, 5, 5]], 0.5, noise(6, 0.5));
    let smooth = volume(&[[0, 0, 0]], 0.5, || 1.0);
    let vector = VdbGrid { name: "v", values: VdbValues::Vector([&a, &smooth, &a]), ..scalar(&a) };
    vec![
        written(&[scalar(&smooth)], VdbCompression::Zip),
        written(&[VdbGrid { precision: VdbPrecision::Half, ..scalar(&a) }], VdbCompression::ActiveOnly),
        written(&[VdbGrid { class: VdbClass::LevelSet, ..scalar(&a) }, vector], VdbCompression::Zip),
    ]
}

#[test]
fn a_file_cut_short_anywhere_is_an_error() {
    for bytes in samples() {
        assert!(read_all_ways(&bytes));
        for length in 0..bytes.len() {
            assert!(parse(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
            let _ = parse_info(&bytes[..length]);
        }
    }
}

#[test]
fn a_flipped_byte_anywhere_is_survived() {
    // Every byte of the smallest file, and of the others some outside the long runs of zeros that masks are.
    for (sample, bytes) in samples().into_iter().enumerate() {
        let mut refused = 0;
        for i in 0..bytes.len() {
            let is_in_a_run = i > 16 && i + 16 < bytes.len() && bytes[i - 16..i + 16].iter().all(|&b| b == 0);
            if sample > 0 && (is_in_a_run || i % 5 != 0) {
                continue;
            }
            let mut bad = bytes.clone();
            bad[i] ^= [0xff, 0x01, 0x80][i % 3];
            refused += usize::from(!read_all_ways(&bad));
        }
        // Lengths, counts, offsets, types: not every byte is a value or a name.
        assert!(refused > 20, "{refused}");
    }
}

#[test]
fn what_is_wrong_is_told_with_the_name_of_the_file() {
    let bytes = written(&[scalar(&volume(&[[0, 0, 0]], 0.0, || 1.0))], VdbCompression::Zip);
    let folder = TestFolder::new("vdb-wrong");
    let path = folder.join("wrong.vdb");
    let spoilt = |at: usize, with: &[u8]| {
        let mut bad = bytes.clone();
        bad[at..at + with.len()].copy_from_slice(with);
        bad
    };
    // After the header: creator, frame, the number of grids, then the offsets of the first one.
    let find = |text: &[u8]| bytes.windows(text.len()).position(|w| w == text).unwrap() + text.len();
    let offsets = find(b"Tree_float_5_4_3") + 4;
    for (expected, bad) in [
        ("not an OpenVDB file", b"SQUALLCP and so on".to_vec()),
        ("not an OpenVDB file", vec![]),
        ("file version 221", spoilt(8, &221_u32.to_le_bytes())),
        ("file version 300", spoilt(8, &300_u32.to_le_bytes())),
        ("as a stream", spoilt(20, &[0])),
        ("it ends at byte", bytes[..60].to_vec()),
        ("damaged or cut short", bytes[..1000].to_vec()),
        ("are not in a file of", spoilt(offsets, &u64::MAX.to_le_bytes())),
        ("are not in a file of", spoilt(offsets + 8, &(1_u64 << 40).to_le_bytes())),
        ("are not in a file of", spoilt(offsets + 16, &[0; 8])),
        ("compression (0x40) is unknown", spoilt(offsets + 24, &[0x40])),
        ("4294967295 more bytes", spoilt(offsets + 32, &[0xff; 4])),
        ("only linear ones", spoilt(find(b"UniformScaleTransl"), b"x")),
    ] {
        std::fs::write(&path, &bad).unwrap();
        let error = read_vdb(&path).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("wrong.vdb"), "{expected}: {error}");
    }
    assert!(read_vdb(folder.join("missing.vdb")).unwrap_err().is_not_found());
    assert!(read_vdb(&*folder).is_err(), "a folder");
}

/// A grid with everything but its tree, and the tree as given.
fn with_tree(tree: &[u8]) -> Vec<u8> {
    let empty = written(&[scalar(&volume(&[], 0.0, || 0.0))], VdbCompression::ActiveOnly);
    let topology = 4 + 4 + 4 + 4; // buffers, background, tiles, children
    let mut bytes = empty[..empty.len() - topology].to_vec();
    bytes.extend_from_slice(tree);
    let end = (bytes.len() as u64).to_le_bytes();
    let offsets = bytes.windows(16).position(|w| w == b"Tree_float_5_4_3").unwrap() + 16 + 4;
    bytes[offsets + 8..offsets + 16].copy_from_slice(&end);
    bytes[offsets + 16..offsets + 24].copy_from_slice(&end);
    bytes
}

#[test]
fn regions_of_one_value_are_spread_while_they_are_small() {
    // A root with one upper node: a lower node's worth of 5 at its child 33, active.
    let mut tree = Vec::new();
    [1, 0, 0, 1].iter().for_each(|&v| put_u32(&mut tree, v));
    [-4096, 0, 4096].iter().for_each(|x: &i32| tree.extend_from_slice(&x.to_le_bytes()));
    let mut active = vec![0; UPPER / 64];
    set(&mut active, 33);
    tree.resize(tree.len() + UPPER / 8, 0);
    active.iter().for_each(|w: &u64| tree.extend_from_slice(&w.to_le_bytes()));
    tree.push(0);
    tree.extend_from_slice(&5_f32.to_le_bytes());
    let bytes = with_tree(&tree);
    let volume = only_scalar(&bytes);
    assert_eq!(volume.blocks.len(), LOWER);
    // Child 33 = [0, 1, 1] of 128 cells each.
    assert_eq!(volume.bounds(), Some(([-4096, 128, 4096 + 128], [-4096 + 128, 256, 4096 + 256])));
    assert!(volume.values.iter().all(|&v| v == 5.0));
    let info = parse_info(&bytes).unwrap();
    assert_eq!(info.grids[0].active_voxels, Some(128 * 128 * 128));
    assert_eq!(info.grids[0].bounds, Some(([-4096, 128, 4224], [-3969, 255, 4351])));
}

#[test]
fn a_region_that_is_too_large_is_refused_before_memory_is_spent_on_it() {
    let mut tree = Vec::new();
    [1, 0, 1, 0].iter().for_each(|&v| put_u32(&mut tree, v));
    [0; 3].iter().for_each(|x: &i32| tree.extend_from_slice(&x.to_le_bytes()));
    tree.extend_from_slice(&5_f32.to_le_bytes());
    tree.push(1);
    let error = parse(&with_tree(&tree)).unwrap_err();
    assert!(error.contains("`density`") && error.contains("too large"), "{error}");
    let info = parse_info(&with_tree(&tree)).unwrap();
    assert_eq!(info.grids[0].active_voxels, Some(1 << 36), "to look at it is no trouble");
}

#[test]
fn false_counts_end_with_the_file() {
    for (tiles, children) in [(u32::MAX, 0), (0, u32::MAX)] {
        let mut tree = Vec::new();
        [1, 0, tiles, children].iter().for_each(|&v| put_u32(&mut tree, v));
        assert!(parse(&with_tree(&tree)).unwrap_err().contains("it ends at byte"));
    }
    let mut bytes = written(&[], VdbCompression::Zip);
    let count = bytes.len() - 4;
    bytes[count..].fill(0xff);
    assert!(parse(&bytes).unwrap_err().contains("grid 1 of 4294967295"));
}

#[test]
fn grids_of_other_types_are_named_and_passed_over() {
    let grid = volume(&[[0, 0, 0]], 0.0, || 1.0);
    let mut bytes = written(&[scalar(&grid)], VdbCompression::Zip);
    let mut name = Vec::new();
    put_text(&mut name, "Tree_float_5_4_3");
    let at = bytes.windows(name.len()).position(|w| w == name).unwrap() + 4;
    bytes[at..at + 16].copy_from_slice(b"Tree_int32_5_4_3");
    let file = parse(&bytes).unwrap();
    assert_eq!(file.skipped, [("density".to_owned(), "Tree_int32_5_4_3".to_owned())]);
    let info = parse_info(&bytes).unwrap();
    assert!(info.grids[0].values.is_err());
    assert_eq!(info.grids[0].active_voxels, Some(512), "as the metadata tells");
}

#[test]
fn leaves_are_counted_before_memory_is_spent_on_them() {
    // 129 lower nodes full of leaves: 34 MB of masks that would become 1.1 GB of values.
    let mut tree = Vec::new();
    [1, 0, 0, 1].iter().for_each(|&v| put_u32(&mut tree, v));
    [0; 3].iter().for_each(|x: &i32| tree.extend_from_slice(&x.to_le_bytes()));
    let mut children = vec![0; UPPER / 64];
    (0..129).for_each(|i| set(&mut children, i));
    children.iter().for_each(|w: &u64| tree.extend_from_slice(&w.to_le_bytes()));
    tree.resize(tree.len() + UPPER / 8 + 1, 0);
    for _ in 0..129 {
        tree.resize(tree.len() + LOWER / 8, 0xff);
        tree.resize(tree.len() + LOWER / 8 + 1 + 64 * LOWER, 0);
    }
    let error = parse(&with_tree(&tree)).unwrap_err();
    assert!(error.contains("`density`") && error.contains("268435456"), "{error}");
}
