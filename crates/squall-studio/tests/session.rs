//! Facts about playing: the same bits on every way to a moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use squall::setup::{Change, Stroke};
use squall::{Assets, CancelToken, Driver, Scene, gallery};
use squall_core::Value;
use squall_core::visit::StateCopy;
use squall_studio::bake::Bake;
use squall_studio::open::Opened;
use squall_studio::player::{Command, Player, Shown};
use squall_studio::session::Session;

const SMOKE: &str = "model = \"smoke\"\n[grid]\ncells = [32, 40]\nsize = [1.0, 1.25]\n[[source]]\n\
                     shape = { sphere = { center = [0.5, 0.2], radius = 0.1 } }\nset = { density = 1, temperature = 200 }\n\
                     [output]\nwidth = 64\n";

fn opened(text: &str) -> Opened {
    Opened::text("test", text, Assets::none(), None, 1.0).unwrap()
}

fn stroke(x: f64, y: f64) -> Stroke {
    Stroke {
        points: vec![vec![x, y]],
        pressure: vec![1.0],
        radius: 0.1,
        softness: 0.5,
        paint: vec![("density".to_owned(), 10.0)],
        push: 20.0,
        force: vec![0.0, 0.0],
        ..Stroke::default()
    }
}

fn state(player: &mut Player) -> StateCopy {
    let mut copy = StateCopy::default();
    assert!(copy.save(|visitor| player.driver().visit_state(visitor)));
    copy
}

/// Goes on until nothing is to be done, or for some frames.
fn frames(player: &mut Player, count: usize) {
    for _ in 0..count {
        assert!(player.tick());
        if let Some(message) = player.show().message {
            panic!("{message}");
        }
    }
}

/// Plays ten frames: a stroke over four of them, then a parameter.
fn played() -> Player {
    let mut player = Player::new(opened(SMOKE)).unwrap();
    player.command(Command::Play);
    frames(&mut player, 3);
    player.command(Command::Down(stroke(0.3, 0.6)));
    for k in 0..4 {
        player.command(Command::Move(vec![0.3 + 0.05 * f64::from(k), 0.6], 0.5 + 0.1 * f64::from(k)));
        frames(&mut player, 1);
    }
    player.command(Command::Up);
    frames(&mut player, 1);
    player.command(Command::Set("viscosity".to_owned(), Value::Number(0.02)));
    frames(&mut player, 2);
    player
}

#[test]
fn a_stroke_has_a_point_for_each_frame_and_the_take_bakes_to_the_same_state() {
    let mut player = played();
    let shown = player.show();
    assert_eq!((shown.frame, shown.edits.len()), (10, 2));
    let Change::Stroke(stroke) = &shown.edits[0].change else { panic!("{:?}", shown.edits) };
    assert_eq!((shown.edits[0].frame, stroke.points.len()), (3, 4), "one for each frame that it was down");
    let now = state(&mut player);

    let take = player.opened().take(&shown.edits);
    assert!(take.starts_with(SMOKE), "the scene as it was typed, and the edits behind it");
    let setup = Scene::parse("take.toml", &take, &[]).unwrap().setup().unwrap().0;
    let mut baked = Driver::new(&setup).unwrap();
    baked.run_to(10, &mut |_| (), &CancelToken::default()).unwrap();
    let mut copy = StateCopy::default();
    copy.save(|visitor| baked.visit_state(visitor));
    assert!(copy == now);

    let again = opened(&take);
    assert_eq!(again.setup.edits, shown.edits, "a take can be opened and played again");
    assert_eq!(again.take(&shown.edits), take);
    let mut again = Player::new(again).unwrap();
    again.command(Command::GoTo(10));
    while again.tick() {}
    assert!(state(&mut again) == now);
}

#[test]
fn rewinding_undo_and_redo_come_back_to_the_same_bits() {
    for room in [usize::MAX, 1] {
        let mut player = played();
        player.set_room(room);
        let at_ten = state(&mut player);
        player.command(Command::GoTo(4));
        while player.tick() {}
        assert_eq!(player.show().frame, 4);
        let at_four = state(&mut player);
        player.command(Command::GoTo(10));
        while player.tick() {}
        assert!(state(&mut player) == at_ten, "played again after rewinding");

        player.command(Command::Undo);
        while player.tick() {}
        let shown = player.show();
        assert_eq!((shown.frame, shown.edits.len(), shown.undone), (8, 1, 1), "back where it was changed");
        player.command(Command::Undo);
        while player.tick() {}
        let shown = player.show();
        assert_eq!((shown.frame, shown.edits.len(), shown.undone), (3, 0, 2));
        let mut plain = Player::new(opened(SMOKE)).unwrap();
        plain.command(Command::GoTo(3));
        while plain.tick() {}
        assert!(state(&mut player) == state(&mut plain), "as if nothing had been played");

        player.command(Command::Redo);
        while player.tick() {}
        player.command(Command::Redo);
        while player.tick() {}
        assert!(state(&mut player) == at_ten, "and made again");
        player.command(Command::GoTo(4));
        while player.tick() {}
        assert!(state(&mut player) == at_four);
    }
}

#[test]
fn an_edit_that_is_dropped_was_never_made() {
    let mut player = played();
    player.command(Command::Stop);
    player.command(Command::Drop(0));
    while player.tick() {}
    let shown = player.show();
    assert_eq!((shown.frame, shown.edits.len()), (10, 1));
    let mut other = Player::new(opened(SMOKE)).unwrap();
    other.command(Command::GoTo(8));
    while other.tick() {}
    other.command(Command::Set("viscosity".to_owned(), Value::Number(0.02)));
    other.command(Command::GoTo(10));
    while other.tick() {}
    assert!(state(&mut player) == state(&mut other));
}

#[test]
fn who_paints_in_the_past_begins_another_story() {
    let mut player = played();
    player.command(Command::GoTo(5));
    while player.tick() {}
    assert_eq!(player.show().edits.len(), 2, "nothing is lost by looking");
    player.command(Command::Down(stroke(0.7, 0.8)));
    frames(&mut player, 2);
    player.command(Command::Up);
    let shown = player.show();
    assert!(!player.tick(), "time runs only while the brush is down");
    assert_eq!((shown.frame, shown.edits.len()), (7, 2), "the stroke of before, and this one");
    assert_eq!(shown.edits[1].frame, 5);
    assert_eq!(shown.last, 7);
    // A click that is shorter than a frame.
    player.command(Command::Down(stroke(0.2, 0.8)));
    player.command(Command::Up);
    while player.tick() {}
    let shown = player.show();
    assert_eq!((shown.frame, shown.edits.len()), (8, 3));
}

#[test]
fn what_cannot_be_is_told_and_changes_nothing() {
    let mut player = played();
    let before = state(&mut player);
    for (command, told) in [
        (Command::Set("viscosity".to_owned(), Value::Number(-1.0)), "must be from 0"),
        (Command::Set("nothing".to_owned(), Value::Number(1.0)), "there is no parameter"),
        (Command::Down(Stroke::default()), "begins at a point"),
    ] {
        player.command(command);
        let message = player.show().message.unwrap();
        assert!(message.contains(told), "{message}");
    }
    assert!(state(&mut player) == before && player.show().edits.len() == 2);
    for (text, told) in
        [("[grid]\ncells = 3", "must be a list"), ("nonsense", ""), ("[grid]\ncells = [70000, 70000]", "")]
    {
        let refused = Opened::text("bad", text, Assets::none(), None, 1.0).unwrap_err();
        assert!(refused.contains(told) && !refused.is_empty(), "{refused}");
    }
    assert!(Opened::file(&PathBuf::from("/nowhere/scene.toml")).unwrap_err().contains("cannot be opened"));
    assert!(Opened::file(&std::env::temp_dir()).unwrap_err().contains("no scene file"));
}

#[test]
fn every_scene_of_the_gallery_opens_and_its_take_is_a_scene() {
    for scene in gallery::all() {
        let opened = Opened::named(scene.name).unwrap_or_else(|e| panic!("{}: {e}", scene.name));
        let at: Vec<f64> = opened.setup.grid.size.iter().map(|s| 0.5 * s).collect();
        let edits = [squall::setup::Edit {
            frame: 2,
            change: Change::Stroke(Stroke {
                push: 1.0,
                points: vec![at.clone()],
                pressure: vec![1.0],
                radius: 0.1,
                force: vec![0.0; at.len()],
                ..Stroke::default()
            }),
        }];
        let setup = opened.to_bake(&edits, 5).unwrap_or_else(|e| panic!("{}: {e}", scene.name));
        assert_eq!((&setup.edits[..], setup.time.frames), (&edits[..], 5), "{}", scene.name);
    }
}

/// Waits for something to be seen.
fn wait(session: &Session, mut seen: impl FnMut(&Shown) -> bool) -> Shown {
    let start = Instant::now();
    loop {
        if let Some(shown) = session.latest()
            && seen(&shown)
        {
            return shown;
        }
        assert!(start.elapsed() < Duration::from_secs(300), "nothing came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_session_plays_in_a_thread_of_its_own_and_shows_the_latest_picture() {
    let session = Session::start(opened(SMOKE), Arc::new(|| ())).unwrap();
    session.send(Command::Speed(f64::INFINITY));
    let shown = wait(&session, |shown| shown.frame >= 5);
    assert!(shown.image.is_some() && shown.playing);
    session.send(Command::Stop);
    let shown = wait(&session, |shown| !shown.playing);
    session.send(Command::Down(stroke(0.3, 0.6)));
    let painted = wait(&session, |now| now.frame > shown.frame);
    assert!(!painted.playing, "time runs while the brush is down, and only then");
    session.send(Command::Up);
    session.send(Command::Open(Box::new(opened(&SMOKE.replace("40]\nsize = [1.0, 1.25]", "32]")))));
    let shown = wait(&session, |shown| shown.scene == 1 && shown.image.is_some());
    assert_eq!(shown.image.map(|image| image.height), Some(64));
    session.send(Command::Step);
    wait(&session, |shown| !shown.playing && shown.frame > 0);
}

#[test]
fn a_take_is_baked_in_the_background_and_can_be_cancelled() {
    let mut player = played();
    let shown = player.show();
    let folder = std::env::temp_dir().join(format!("squall-studio-bake-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let setup = player.opened().to_bake(&shown.edits, 10).unwrap();
    let bake = Bake::start(setup.clone(), "test", &folder.join("whole"), Arc::new(|| ())).unwrap();
    let start = Instant::now();
    while bake.progress().ended.is_none() {
        assert!(start.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(bake.progress().ended.unwrap().is_ok());
    assert_eq!(bake.progress().frames, (10, 10));
    assert!(folder.join("whole/frame_0010.png").exists());

    let longer = player.opened().to_bake(&shown.edits, 100_000).unwrap();
    let bake = Bake::start(longer, "test", &folder.join("long"), Arc::new(|| ())).unwrap();
    bake.cancel();
    while bake.progress().ended.is_none() {
        assert!(start.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(bake.progress().ended, Some(Err("cancelled".to_owned())));
    drop(bake);
    let _ = std::fs::remove_dir_all(&folder);
}
