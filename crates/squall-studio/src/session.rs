//! A session: commands go in, the latest picture comes out. Who plays it, a thread or the window itself, depends on the [`place`](crate::place).

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use squall_core::clock::Stopwatch;

use crate::open::Opened;
use crate::place::Running;
use crate::player::{Command, Player, Shown};

/// What is told to whoever waits for pictures: there is a new one.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// How long it waits if nothing is to be done.
const LONG: Duration = Duration::from_secs(3600);

/// A scene that plays.
pub struct Session {
    // Given up first: who plays then ends, after the frame that is being made.
    commands: Sender<Command>,
    running: Running,
    slot: Arc<Mutex<Option<Shown>>>,
}

impl Session {
    /// Opens a scene, playing. Only the latest picture is kept, and `wake` is called for each.
    pub fn start(opened: Opened, wake: Wake) -> Result<Self, String> {
        let (commands, inbox) = channel();
        let slot: Arc<Mutex<Option<Shown>>> = Arc::default();
        let play = Play {
            opened: Some(opened),
            player: None,
            inbox,
            asked: None,
            slot: slot.clone(),
            wake,
            clock: Stopwatch::start(),
            due: 0.0,
        };
        Ok(Session { commands, running: Running::start(play)?, slot })
    }

    /// Asks for something. It is done between two frames.
    pub fn send(&self, command: Command) {
        // If nobody listens any more, the slot says why.
        let _ = self.commands.send(command);
    }

    /// Where nobody else plays it, plays for a moment, and says how long it has nothing to do then.
    pub fn turn(&mut self) -> Option<Duration> {
        self.running.turn()
    }

    /// What is to be seen, if that is new. A picture that was not fetched is kept until the next.
    pub fn latest(&self) -> Option<Shown> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A session as whoever plays it sees it.
pub(crate) struct Play {
    /// The scene, until the first turn makes a player of it.
    opened: Option<Opened>,
    player: Option<Player>,
    pub(crate) inbox: Receiver<Command>,
    /// What came first while somebody waited.
    pub(crate) asked: Option<Command>,
    slot: Arc<Mutex<Option<Shown>>>,
    wake: Wake,
    clock: Stopwatch,
    /// When the next frame is to be made, by the clock.
    due: f64,
}

impl Play {
    /// Does what was asked for, makes a frame if its time has come, and shows what is new: how long nothing will happen unless something is asked for.
    /// `None`: nobody wants it any more.
    pub(crate) fn turn(&mut self) -> Result<Option<Duration>, String> {
        // What is asked for while the scene is built says how its first picture is to be drawn.
        let mut changed = self.opened.is_some();
        if let Some(opened) = self.opened.take() {
            self.player.insert(Player::new(opened)?).command(Command::Play);
        }
        let Some(player) = &mut self.player else { return Ok(None) };
        // Everything that has been asked for meanwhile.
        loop {
            match self.asked.take().map_or_else(|| self.inbox.try_recv(), Ok) {
                Ok(command) => {
                    changed = true;
                    player.command(command);
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(None),
            }
        }
        if changed && player.is_stale() {
            show(player, &self.slot, &self.wake);
        }
        let now = self.clock.seconds();
        if player.has_work() && (now >= self.due || player.pace() == 0.0) {
            player.tick();
            let pace = player.pace();
            if pace > 0.0 {
                // Who is late does not hurry afterwards.
                self.due = (self.due + pace.min(10.0)).max(now);
            }
            changed = true;
        }
        if changed {
            show(player, &self.slot, &self.wake);
        }
        Ok(Some(match player.has_work() {
            true if player.pace() == 0.0 => Duration::ZERO,
            true => Duration::from_secs_f64((self.due - self.clock.seconds()).max(0.0)),
            false => LONG,
        }))
    }

    /// Tells why nothing will come any more.
    pub(crate) fn end(&self, reason: String) {
        let shown = Shown { ended: true, message: Some(reason), ..Shown::default() };
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
        (self.wake)();
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
