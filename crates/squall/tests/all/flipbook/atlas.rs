//! Flipbooks: textures are read back and must hold what they say.

use std::path::PathBuf;

use squall::flipbook::{Packed, pack, prepare};
use squall::run::{CancelToken, RunOptions};
use squall::{Event, Scene, Setup, run};
use squall_io::{read_exr, read_png, read_png16};
use squall_render::color::from_srgb8;

const SCENE: &str = r##"
[grid]
cells = [24, 24]
[fluid]
velocity = [0.5, 0.25]
[boundary]
x = "periodic"
y = "periodic"
[substance.dye]
initial = "smooth(1.5 - 5*sqrt((x - 0.5)^2 + (y - 0.5)^2))"
[time]
fps = 12
frames = 10
[output]
checkpoint_seconds = 0
[picture]
map = ["#ff2000", "#ffe080"]
range = [0.0, 1.0]
[flipbook]
size = 20
"##;

struct Book {
    out: PathBuf,
    setup: Setup,
    packed: Packed,
}

impl Book {
    fn new(name: &str, changes: &[&str]) -> Self {
        let changes: Vec<String> = changes.iter().map(|c| (*c).to_owned()).collect();
        let (mut setup, _) = Scene::parse("test.toml", SCENE, &changes).unwrap().setup().unwrap();
        let out = std::env::temp_dir().join(format!("squall-flipbook-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&out);
        prepare(&mut setup).unwrap();
        let (mut quiet, cancel) = (|_: &Event<'_>| {}, CancelToken::default());
        run(&setup, &RunOptions::new("dye", out.join("frames")), &mut quiet, &cancel).unwrap();
        let packed = pack(&setup, "dye", &out.join("frames"), &out, &mut quiet, &cancel).unwrap();
        Self { out, setup, packed }
    }

    fn sidecar(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.out.join("dye.json")).unwrap()).unwrap()
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.out);
    }
}

#[test]
fn every_frame_is_in_its_place_and_the_border_of_a_scene_that_tiles_goes_on_at_the_opposite_edge() {
    let book = Book::new("places", &["flipbook.alpha=\"premultiplied\"", "flipbook.mips=2"]);
    let layout = book.packed.layout;
    assert_eq!((layout.columns, layout.rows, layout.padding, layout.frame), (4, 3, 4, [20, 20]));
    let sidecar = book.sidecar();
    let texture = read_png(book.out.join("dye_color.png")).unwrap();
    assert_eq!([texture.width, texture.height], layout.size());
    let at = |x: u32, y: u32| -> [u8; 4] { texture.rgba.as_chunks().0[(y * texture.width + x) as usize] };
    let frames = sidecar["frames"].as_array().unwrap();
    assert_eq!((frames.len(), sidecar["count"].as_u64()), (10, Some(10)));
    for frame in frames {
        let number = |key: &str| frame[key].as_u64().unwrap() as u32;
        let (left, top) = (number("x"), number("y"));
        let picture = read_png(book.out.join(format!("frames/frame_{:04}.png", number("source_frame")))).unwrap();
        for y in 0..20 {
            for x in 0..20 {
                let [r, g, b, a]: [u8; 4] = picture.rgba.as_chunks().0[(20 * y + x) as usize];
                let alpha = f32::from(a) / 255.0;
                let found = at(left + x, top + y);
                assert_eq!(found[3], a);
                for (straight, found) in [r, g, b].into_iter().zip(found) {
                    let (light, stored) = (from_srgb8([straight; 3])[0] * alpha, from_srgb8([found; 3])[0]);
                    // Half a level of 8-bit sRGB is at most 0.0045 of light.
                    assert!((light - stored).abs() < 0.0046, "multiplied once: {light} {stored}");
                }
            }
        }
        for i in 0..20 {
            for d in 1..=4 {
                assert_eq!(at(left + i, top - d), at(left + i, top + 20 - d));
                assert_eq!(at(left + i, top + 19 + d), at(left + i, top + d - 1));
                assert_eq!(at(left - d, top + i), at(left + 20 - d, top + i));
                assert_eq!(at(left + 19 + d, top + i), at(left + d - 1, top + i));
            }
        }
    }
    assert_eq!(sidecar["alpha"], "premultiplied");
    assert_eq!(sidecar["layout"]["safe_mip_levels"], 2);
    assert!(book.packed.preview.as_ref().is_some_and(|path| path.exists()));
}

#[test]
fn straight_colours_go_on_where_nothing_is_seen() {
    let book = Book::new("straight", &["flipbook.preview=false"]);
    let texture = read_png(book.out.join("dye_color.png")).unwrap();
    let [left, top] = book.packed.layout.place(0);
    let mut clear = 0;
    for i in 0..400 {
        let (x, y) = (left + i % 20, top + i / 20);
        let [r, _, b, a]: [u8; 4] = texture.rgba.as_chunks().0[(y * texture.width + x) as usize];
        if a == 0 {
            clear += 1;
            // All dyes are between #ff2000 and #ffe080: never black.
            assert!(r > 240 && b < 140, "{r} {b}");
        }
    }
    assert!(clear > 40, "the corners are empty: {clear}");
    assert!(book.packed.preview.is_none());
}

#[test]
fn motion_decodes_to_how_far_the_flow_carries_in_cells_of_the_grid() {
    for (bits, green, sign) in [(8, "up", 1.0), (16, "down", -1.0)] {
        let changes = [
            format!("flipbook.motion_bits={bits}"),
            format!("flipbook.green=\"{green}\""),
            "flipbook.every=2".to_owned(),
            "flipbook.fit=false".to_owned(),
            "flipbook.preview=false".to_owned(),
        ];
        let book = Book::new(&format!("motion{bits}"), &changes.each_ref().map(String::as_str));
        let sidecar = book.sidecar();
        assert_eq!(sidecar["fps"].as_f64(), Some(6.0));
        let most = sidecar["textures"]["motion"]["max"].as_f64().unwrap();
        let (width, _, samples) = read_png16(book.out.join("dye_motion.png")).unwrap();
        // A uniform flow of (0.5, 0.25) m/s in a box of 1 m: in two frames of 1/12 s, and a cell is 28 pixels for 20.
        let expected = [0.5 / 6.0 * 20.0 / 28.0, sign * 0.25 / 6.0 * 20.0 / 28.0];
        let [left, top] = book.packed.layout.place(3);
        for i in 0..400u32 {
            let at = ((top + i / 20) * width + left + i % 20) as usize;
            for c in 0..2 {
                let v = (2.0 * f64::from(samples[4 * at + c]) / 65535.0 - 1.0) * most;
                // A level of the texture, and full numbers of 11 bits.
                let level = 2.0 * most / if bits == 8 { 255.0 } else { 65535.0 };
                assert!((v - expected[c]).abs() < level + 1e-3 * most, "{v} {}", expected[c]);
            }
        }
    }
}

#[test]
fn textures_with_sides_of_powers_of_two_are_exact_and_packing_again_changes_nothing() {
    let book = Book::new("power", &["flipbook.power_of_two=true", "flipbook.maps=[\"motion\", \"normal\"]"]);
    for name in ["color", "motion", "normal"] {
        let texture = read_png(book.out.join(format!("dye_{name}.png"))).unwrap();
        assert!(texture.width.is_power_of_two() && texture.height.is_power_of_two(), "{name}");
    }
    let normal = read_exr(book.out.join("frames/frame_0001.exr"), "Normal").unwrap().unwrap().pixels;
    assert!(normal.iter().all(|[x, y, z, _]| ((x * x + y * y + z * z).sqrt() - 1.0).abs() < 2e-3));
    let files: Vec<Vec<u8>> = book.packed.files.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let (mut quiet, cancel) = (|_: &Event<'_>| {}, CancelToken::default());
    let again = pack(&book.setup, "dye", &book.out.join("frames"), &book.out, &mut quiet, &cancel).unwrap();
    assert_eq!(again.files, book.packed.files);
    assert!(again.files.iter().zip(files).all(|(path, before)| std::fs::read(path).unwrap() == before));
}

#[test]
fn a_flipbook_has_no_floor_unless_it_is_opaque() {
    let scene =
        "model = \"smoke\"\n[grid]\ncells = [8, 8, 8]\n[substance.density]\ninitial = 1.0\n[render]\nground = {}\n";
    for (alpha, floor) in [("straight", false), ("premultiplied", false), ("opaque", true)] {
        let change = format!("flipbook.alpha=\"{alpha}\"");
        let (mut setup, _) = Scene::parse("test.toml", scene, &[change]).unwrap().setup().unwrap();
        prepare(&mut setup).unwrap();
        let render = &setup.film.as_ref().unwrap().render;
        assert_eq!((render.ground.is_some(), render.transparent), (floor, !floor), "{alpha}");
        assert!(setup.output.exr && setup.output.vdb.is_none());
    }
}

#[test]
fn a_run_without_the_passes_is_refused_and_a_cancelled_pack_says_so() {
    let book = Book::new("missing", &["flipbook.maps=[]", "flipbook.preview=false"]);
    let mut setup = book.setup.clone();
    setup.flipbook.maps = vec![squall::setup::Pass::Motion];
    let mut quiet = |_: &Event<'_>| {};
    let frames = book.out.join("frames");
    let error = pack(&setup, "dye", &frames, &book.out, &mut quiet, &CancelToken::default()).unwrap_err();
    assert!(error.to_string().contains("frame_0001.exr") && error.advice().unwrap().contains("output.passes"));
    setup.picture.transparent = false;
    let error = pack(&setup, "dye", &frames, &book.out, &mut quiet, &CancelToken::default()).unwrap_err();
    assert!(error.to_string().contains("background") && error.advice().unwrap().contains("--opaque"));
    let cancel = CancelToken::default();
    cancel.cancel();
    assert!(pack(&book.setup, "dye", &frames, &book.out, &mut quiet, &cancel).unwrap().cancelled);
}
