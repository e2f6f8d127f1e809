//! A player in a thread of its own: commands go in, the latest picture comes out. Whoever draws the window never waits for the simulation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::open::Opened;
use crate::player::{Command, Player, Shown};

/// What is told to whoever waits for pictures: there is a new one.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// A scene that plays.
pub struct Session {
    commands: Option<Sender<Command>>,
    slot: Arc<Mutex<Option<Shown>>>,
    thread: Option<JoinHandle<()>>,
}

impl Session {
    /// Opens a scene in a thread of its own, playing. Only the latest picture is kept, and `wake` is called for each.
    pub fn start(opened: Opened, wake: Wake) -> Result<Self, String> {
        let (commands, inbox) = channel();
        let slot: Arc<Mutex<Option<Shown>>> = Arc::default();
        let thread = {
            let slot = slot.clone();
            let body = move || run(opened, inbox, &slot, &wake);
            std::thread::Builder::new().name("simulation".to_owned()).spawn(body).map_err(|e| e.to_string())?
        };
        Ok(Session { commands: Some(commands), slot, thread: Some(thread) })
    }

    /// Asks for something. It is done between two frames.
    pub fn send(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // If nobody listens any more, the slot says why.
            let _ = commands.send(command);
        }
    }

    /// What is to be seen, if that is new. A picture that was not fetched is kept until the next.
    pub fn latest(&self) -> Option<Shown> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Session {
    /// Ends after the frame that is being made.
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// As many threads as the machine has, but one for the window if there are several.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1).max(1))
}

fn run(opened: Opened, inbox: Receiver<Command>, slot: &Mutex<Option<Shown>>, wake: &Wake) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads()).build();
    let play = move || play(opened, &inbox, slot, wake);
    // A bug must not take the window along, and what was played with it: it is told.
    let played = catch_unwind(AssertUnwindSafe(|| match pool {
        Ok(pool) => pool.install(play),
        Err(_) => play(),
    }));
    let told = match played {
        Ok(Ok(())) => return,
        Ok(Err(reason)) => reason,
        Err(_) => "the simulation has crashed: this is a bug, please report it; the take can still be saved".to_owned(),
    };
    let shown = Shown { ended: true, message: Some(told), ..Shown::default() };
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
    wake();
}

fn play(opened: Opened, inbox: &Receiver<Command>, slot: &Mutex<Option<Shown>>, wake: &Wake) -> Result<(), String> {
    let mut player = Player::new(opened)?;
    player.command(Command::Play);
    let mut due = Instant::now();
    let mut first = true;
    loop {
        // Everything that has been asked for meanwhile. What is asked for while the scene is built says how its first picture is to be drawn.
        let mut changed = std::mem::take(&mut first);
        loop {
            match inbox.try_recv() {
                Ok(command) => {
                    changed = true;
                    player.command(command);
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
        if changed && player.is_stale() {
            show(&mut player, slot, wake);
        }
        let now = Instant::now();
        if player.has_work() && (now >= due || player.pace() == 0.0) {
            player.tick();
            let pace = player.pace();
            if pace > 0.0 {
                // Who is late does not hurry afterwards.
                due = (due + Duration::from_secs_f64(pace.min(10.0))).max(now);
            }
            changed = true;
        }
        if changed {
            show(&mut player, slot, wake);
            continue;
        }
        let wait = match player.has_work() {
            true => due.saturating_duration_since(Instant::now()),
            false => Duration::from_secs(3600),
        };
        match inbox.recv_timeout(wait) {
            Ok(command) => {
                player.command(command);
                show(&mut player, slot, wake);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Puts what can be seen into the slot. What was there and nobody has seen is not lost: its message, and its picture if there is no newer one.
fn show(player: &mut Player, slot: &Mutex<Option<Shown>>, wake: &Wake) {
    let mut shown = player.show();
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = slot.take().filter(|before| before.scene == shown.scene) {
        shown.image = shown.image.or(before.image);
        shown.volume = shown.volume.or(before.volume);
        shown.message = shown.message.or(before.message);
    }
    *slot = Some(shown);
    drop(slot);
    wake();
}
