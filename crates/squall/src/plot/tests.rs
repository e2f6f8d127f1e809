use super::*;

const HEADER: &str = "frame,time,energy,density.target,density.raw_error,density.raw_error_of_first,density.smooth_error,\
                      density.smooth_error_of_first,density.mass,density.peak_ratio,density.sigma";

/// A smoke whose raw error falls from 1.6 to 0.1 on its way to each of two targets, with a mass of 0.25.
fn typical() -> String {
    let mut text = HEADER.to_owned();
    for k in 0..120 {
        let (time, part) = (f64::from(k) / 15.0, f64::from(k % 60) / 59.0);
        let error = 0.1 + 1.5 * (-4.0 * part).exp();
        let row = [0.4 * part * (1.0 - part), f64::from(k / 60), error, 1.0, 0.6 * error, 1.0, 0.25, 1.0, 0.04];
        let row: Vec<String> = row.iter().map(f64::to_string).collect();
        text += &format!("\n{k},{time},{}", row.join(","));
    }
    text
}

/// The rows of a column of pixels that have nearly this colour.
fn rows_of(canvas: &Canvas, x: usize, color: Color) -> Vec<usize> {
    let is_near = |y: &usize| {
        let pixel = &canvas.pixels[3 * (y * canvas.width + x)..][..3];
        pixel.iter().zip(color).all(|(a, b)| a.abs_diff(b) < 24)
    };
    (0..canvas.height).filter(is_near).collect()
}

#[test]
fn lines_are_where_the_data_say() {
    let table = TargetTable::parse(&typical());
    let canvas = target_chart(&table);
    let time = Axis::new([table.times.as_slice()], SIDE, RIGHT);
    // One row of legend: two errors, and the change of targets.
    let (top, bottom) = (20.0 + LEGEND_ROW, 20.0 + LEGEND_ROW + 340.0);
    let errors = Axis::new([table.smokes[0].raw_error.as_slice()], bottom, top + HEADROOM);
    for k in [10, 45, 75, 110] {
        let expected = errors.at(table.smokes[0].raw_error[k]);
        let rows = rows_of(&canvas, time.at(table.times[k]) as usize, PALETTE[0][0]);
        let in_panel: Vec<_> = rows.into_iter().filter(|y| (top..bottom).contains(&(*y as f32))).collect();
        assert!(!in_panel.is_empty(), "frame {k}");
        let middle = in_panel.iter().sum::<usize>() as f32 / in_panel.len() as f32 + 0.5;
        // The line is 2.5 pixels wide and steep in places.
        assert!((middle - expected).abs() < 2.0, "frame {k}: {middle}, expected {expected}");
    }
    // The mass of 0.25 in the lower panel is one level line.
    let level: Vec<Vec<usize>> = [300, 700]
        .map(|x| rows_of(&canvas, x, PALETTE[0][0]).into_iter().filter(|y| *y as f32 > bottom).collect())
        .to_vec();
    assert!(!level[0].is_empty() && level[0] == level[1], "{level:?}");
}

#[test]
fn a_change_of_targets_is_a_vertical_line() {
    let table = TargetTable::parse(&typical());
    assert_eq!(table.changes().collect::<Vec<_>>(), [59.0 / 15.0]);
    let canvas = target_chart(&table);
    let x = Axis::new([table.times.as_slice()], SIDE, RIGHT).at(59.0 / 15.0) as usize;
    let rows = rows_of(&canvas, x, CHANGE).len();
    // Both panels are 540 pixels high together; lines of data cross it.
    assert!(rows > 450, "{rows}");
    let elsewhere = rows_of(&canvas, x + 40, CHANGE).len();
    assert!(elsewhere < 10, "{elsewhere}");
}

#[test]
fn any_table_can_be_drawn() {
    let typical = typical();
    let one_row = typical.lines().take(2).collect::<Vec<_>>().join("\n");
    let torn = &typical[..typical.len() - 30];
    let with_gaps = typical.replace("0.25", "NaN").replace("1,1,", "inf,nonsense,");
    let no_time = typical.replace("time", "hours");
    let huge = format!("{HEADER}\n1,1e300,1e-300,0,1e300,0,-1e300,0,-5,1,1\n2,2,3,1,2,1,1,1,1,1,1");
    for text in ["", HEADER, &one_row, torn, &with_gaps, &no_time, &huge, "time\n1\n2"] {
        let canvas = target_chart(&TargetTable::parse(text));
        assert_eq!(canvas.pixels.len(), 3 * canvas.width * canvas.height);
    }
    let canvas = target_chart(&TargetTable::parse(&one_row));
    // A single value is a dot six pixels wide at the left end.
    let dot = rows_of(&canvas, SIDE as usize + 1, PALETTE[0][0]).len();
    assert!(dot > 4, "{dot}");
}

#[test]
fn the_error_at_a_time_is_the_largest_of_all_smokes() {
    let text = "frame,time,energy,a.target,a.raw_error,b.target,b.raw_error\n1,0.5,0,0,0.9,0,0.3\n2,1,0,0,0.2,0,0.4\n3,1.5,0,1,1,1,nan";
    let table = TargetTable::parse(text);
    assert_eq!(table.error_at(0.5), Some(0.9));
    assert_eq!(table.error_at(1.2), Some(0.4));
    assert_eq!(table.error_at(9.0), Some(1.0), "what is not known does not count");
    assert_eq!(table.error_at(0.1), None);
}

#[test]
fn axes_have_round_numbers() {
    let labels = |values: &[f64]| Axis::new([values], 0.0, 1.0).ticks().map(|(_, label)| label).collect::<Vec<_>>();
    assert_eq!(labels(&[0.0, 1.63]), ["0.0", "0.5", "1.0", "1.5", "2.0"]);
    assert_eq!(labels(&[10.0]), ["0", "2", "4", "6", "8", "10"]);
    assert_eq!(labels(&[-0.02, 0.1]), ["-0.02", "0.00", "0.02", "0.04", "0.06", "0.08", "0.10"]);
    assert_eq!(labels(&[2e-9]), ["0", "5.0e-10", "1.0e-9", "1.5e-9", "2.0e-9"]);
    assert_eq!(labels(&[]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
}

#[test]
fn a_folder_without_targets_has_no_chart() {
    let folder = std::env::temp_dir().join(format!("squall-plot-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    assert_eq!(draw_targets(&folder).unwrap(), None);
    std::fs::write(folder.join(TABLE), typical()).unwrap();
    let path = draw_targets(&folder).unwrap().unwrap();
    let picture = squall_io::read_png(&path).unwrap();
    assert_eq!(picture.width as usize, WIDTH);
    std::fs::remove_dir_all(&folder).unwrap();
}
