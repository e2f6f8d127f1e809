use super::*;
use crate::image::write_png;
use crate::test_folder::TestFolder;
use std::fs::{self, File};
use std::io::BufReader;

/// A soft ball on a dark gradient, moving.
fn pixels(frame: usize, width: u32, height: u32) -> Vec<u8> {
    let mut rgb = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let (dx, dy) = (x as f32 - 10.0 - 2.0 * frame as f32, y as f32 - 16.0);
            let ball = 255.0 / (1.0 + 0.02 * (dx * dx + dy * dy));
            rgb.extend([ball as u8, (0.6 * ball) as u8, (y / 2) as u8]);
        }
    }
    rgb
}

fn write_frames(folder: &Path, count: usize, width: u32, height: u32) -> Vec<PathBuf> {
    let path = |i: usize| folder.join(format!("frame_{i:04}.png"));
    (0..count).for_each(|i| write_png(path(i), width, height, &pixels(i, width, height)).unwrap());
    (0..count).map(path).collect()
}

fn make(frames: &[PathBuf], fps: f64, format: MovieFormat, out: &Path) -> Result<(), MovieError> {
    assemble(frames, fps, format, out, &mut |_| {}, &|| false)
}

#[test]
fn a_gif_has_all_frames_the_right_size_and_the_right_length() {
    let folder = TestFolder::new("gif");
    let out = folder.join("movie.gif");
    let frames = write_frames(&folder, 20, 64, 48);
    make(&frames, 24.0, MovieFormat::Gif, &out).unwrap();

    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::Indexed);
    let mut decoder = options.read_info(File::open(&out).unwrap()).unwrap();
    assert_eq!((decoder.width(), decoder.height(), decoder.repeat()), (64, 48, gif::Repeat::Infinite));
    let palette = decoder.global_palette().unwrap().to_vec();
    let mut canvas = vec![0u8; 3 * 64 * 48];
    let (mut count, mut length) = (0, 0);
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        for (i, &index) in frame.buffer.iter().enumerate().filter(|(_, v)| Some(**v) != frame.transparent) {
            let x = usize::from(frame.left) + i % usize::from(frame.width);
            let y = usize::from(frame.top) + i / usize::from(frame.width);
            canvas[3 * (64 * y + x)..][..3].copy_from_slice(&palette[3 * usize::from(index)..][..3]);
        }
        // 255 colours for a few thousand: single pixels are dithered, but the picture as a whole is right.
        let wanted = pixels(count, 64, 48);
        let error: f32 = canvas.iter().zip(&wanted).map(|(&a, &b)| (f32::from(a) - f32::from(b)).abs()).sum();
        assert!(error / (canvas.len() as f32) < 3.0, "frame {count}: {}", error / canvas.len() as f32);
        count += 1;
        length += u32::from(frame.delay);
    }
    assert_eq!((count, length), (20, 83));
}

#[test]
fn an_apng_holds_exactly_the_pixels_of_its_frames() {
    let folder = TestFolder::new("apng");
    let out = folder.join("movie.apng");
    let frames = write_frames(&folder, 5, 33, 21);
    make(&frames, 24.0, MovieFormat::Apng, &out).unwrap();
    let mut reader = png::Decoder::new(BufReader::new(File::open(&out).unwrap())).read_info().unwrap();
    let animation = *reader.info().animation_control().unwrap();
    assert_eq!((animation.num_frames, animation.num_plays), (5, 0));
    for frame in 0..5 {
        let mut samples = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut samples).unwrap();
        let control = reader.info().frame_control.unwrap();
        assert_eq!((control.delay_num, control.delay_den, control.width, control.height), (1, 24, 33, 21));
        assert_eq!(samples, pixels(frame, 33, 21), "frame {frame}");
    }
}

#[test]
fn movies_are_the_same_for_any_number_of_threads() {
    let folder = TestFolder::new("movie-threads");
    let frames = write_frames(&folder, 20, 64, 48);
    let mut movies = Vec::new();
    for threads in [1, 2, 3, 7] {
        let out = folder.join("movie.gif");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| make(&frames, 30.0, MovieFormat::Gif, &out)).unwrap();
        movies.push(fs::read(out).unwrap());
    }
    assert!(movies.iter().all(|movie| *movie == movies[0]));
}

#[test]
fn a_movie_of_equal_frames_or_of_one_frame_is_possible() {
    let folder = TestFolder::new("movie-equal");
    let frame = write_frames(&folder, 1, 16, 16).remove(0);
    for (count, format) in
        [(1, MovieFormat::Gif), (5, MovieFormat::Gif), (1, MovieFormat::Apng), (5, MovieFormat::Apng)]
    {
        let out = folder.join("movie");
        make(&vec![frame.clone(); count], 10.0, format, &out).unwrap();
        assert!(fs::metadata(out).unwrap().len() > 0);
    }
}

#[test]
fn cancelling_leaves_no_movie() {
    let folder = TestFolder::new("movie-cancel");
    let frames = write_frames(&folder, 40, 16, 16);
    for format in [MovieFormat::Gif, MovieFormat::Apng] {
        let heard = std::cell::Cell::new(0);
        let result = assemble(&frames, 24.0, format, &folder.join("movie"), &mut |n| heard.set(n), &|| heard.get() > 0);
        assert!(matches!(result, Err(MovieError::Cancelled)));
        assert!(heard.get() < 40);
        assert_eq!(folder.names().len(), 40);
    }
}

#[test]
fn bad_requests_are_errors_and_leave_no_movie() {
    let folder = TestFolder::new("movie-bad");
    let mut frames = write_frames(&folder, 3, 16, 16);
    let out = folder.join("movie");
    assert!(matches!(make(&[], 24.0, MovieFormat::Gif, &out), Err(MovieError::NoFrames)));
    for fps in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(make(&frames, fps, MovieFormat::Gif, &out), Err(MovieError::FrameRate(_))));
    }
    write_png(&frames[1], 16, 17, &pixels(0, 16, 17)).unwrap();
    for format in [MovieFormat::Gif, MovieFormat::Apng] {
        let error = make(&frames, 24.0, format, &out).unwrap_err().to_string();
        assert!(error.contains("frame_0001.png") && error.contains("16 x 17") && error.contains("16 x 16"), "{error}");
    }
    frames[1] = folder.join("gone.png");
    for format in [MovieFormat::Gif, MovieFormat::Apng] {
        let error = make(&frames, 24.0, format, &out).unwrap_err().to_string();
        assert!(error.contains("gone.png"), "{error}");
    }
    assert_eq!(folder.names().len(), 3);
}

#[test]
fn without_ffmpeg_the_error_names_the_remedy() {
    let folder = TestFolder::new("mp4-missing");
    let frames = write_frames(&folder, 1, 16, 16);
    let out = folder.join("movie.mp4");
    let error = mp4_movie::write("/nowhere/ffmpeg".as_ref(), &frames, 24.0, &out, &mut |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("install it, or choose gif or apng"), "{error}");
    assert_eq!(folder.names().len(), 1);
}

#[cfg(unix)]
#[test]
fn ffmpeg_gets_every_pixel_and_its_failure_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TestFolder::new("mp4");
    let frames = write_frames(&folder, 20, 16, 12);
    let out = folder.join("movie.mp4");
    let script = folder.join("fake-ffmpeg");
    let fake = |text: &str| {
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    };
    // Stands in for ffmpeg: copies its input to its last argument.
    fake("#!/bin/sh\nfor last; do :; done\nexec cat > \"$last\"\n");
    mp4_movie::write(script.as_ref(), &frames, 24.0, &out, &mut |_| Ok(())).unwrap();
    assert_eq!(fs::metadata(&out).unwrap().len(), 20 * 16 * 12 * 4);
    fs::remove_file(&out).unwrap();

    fake("#!/bin/sh\necho 'Unknown encoder libx264' >&2\nexit 1\n");
    let error = mp4_movie::write(script.as_ref(), &frames, 24.0, &out, &mut |_| Ok(())).unwrap_err();
    assert!(error.to_string().ends_with("Unknown encoder libx264"), "{error}");
    assert!(!out.exists());
}
