//! A user of a simulated world, who acts at moments that a test chose.

use std::cell::RefCell;
use std::rc::Rc;

use flamestack_orchestrator::{Ask, Choice, Front, FrontInput, Reply, RunEvent, RunSummary};

use super::World;

/// The user of a world.
pub(crate) struct SimFront(Rc<RefCell<World>>);

impl SimFront {
    /// The user of this world.
    pub(crate) fn new(world: &Rc<RefCell<World>>) -> Self {
        Self(Rc::clone(world))
    }
}

impl Front for SimFront {
    fn event(&mut self, event: &RunEvent) {
        self.0.borrow_mut().shown.push(event.clone());
    }

    fn progress(&mut self, _summary: &dyn Fn() -> RunSummary) {}

    fn ask(&mut self, ask: &Ask) -> bool {
        let mut world = self.0.borrow_mut();
        let now = world.shown.len();
        if world.has_user {
            let answer = FrontInput::Answer {
                ask: ask.id.clone(),
                reply: Reply::Once,
            };
            world.inputs.push_back((now, answer));
        }
        world.has_user
    }

    fn unknown_outcome(&mut self, _title: &str) -> Choice {
        if self.0.borrow().has_user {
            Choice::GoOn
        } else {
            Choice::Leave
        }
    }

    fn inputs(&mut self) -> Vec<FrontInput> {
        let mut world = self.0.borrow_mut();
        let now = world.shown.len();
        let due = world.inputs.iter().take_while(|(at, _)| *at <= now).count();
        world.inputs.drain(..due).map(|(_, input)| input).collect()
    }
}
