//! The frames of a simulated world: the real rules on a tree in memory.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use flamestack_core::command::{PlanItem, Under};
use flamestack_core::event::Goal;
use flamestack_core::{
    Actor, Command, DecideError, Frame, FrameHead, FrameId, Text, Title, TreeQuery as _, decide,
};
use flamestack_orchestrator::{RunStack, StackError};

use serde_json::Value;

use super::{Moment, World, record, user};

/// The frames of a world.
pub(crate) struct SimStack(Rc<RefCell<World>>);

impl SimStack {
    /// The frames of this world.
    pub(crate) fn new(world: &Rc<RefCell<World>>) -> Self {
        Self(Rc::clone(world))
    }

    /// Plans a frame, outside of any crash.
    pub(crate) fn plan(
        &mut self,
        parent: Option<FrameId>,
        title: &str,
        criteria: Option<&str>,
    ) -> FrameId {
        let id = self.draw();
        let item = PlanItem {
            id,
            goal: Goal {
                title: Title::recorded(title.to_owned()),
                criteria: criteria.and_then(|text| Text::new(text).ok()),
                criteria_compacted: None,
            },
            children: Vec::new(),
        };
        let command = Command::Plan {
            under: parent.map_or(Under::Root, Under::Frame),
            items: vec![item],
        };
        // A world of a test that cannot be prepared shows itself in the run.
        drop(self.change(&user(), &command));
        id
    }

    /// Executes a command, outside of any crash.
    pub(crate) fn change(&mut self, actor: &Actor, command: &Command) -> Result<(), StackError> {
        let mut world = self.0.borrow_mut();
        let decision = decide(&world.tree, actor, command).map_err(refused)?;
        record(&mut world.tree, actor, decision.events);
        Ok(())
    }
}

fn refused(rejected: DecideError<Infallible>) -> StackError {
    match rejected {
        DecideError::Refused(refusal) => StackError::Refused(refusal),
        DecideError::Unreadable(never) => match never {},
    }
}

fn dead() -> StackError {
    StackError::Lost("the driver died".to_owned())
}

impl RunStack for SimStack {
    fn heads(&self, root: &FrameId) -> Result<Vec<FrameHead>, StackError> {
        let world = self.0.borrow();
        let tree = &world.tree;
        let mut heads: Vec<FrameHead> = Vec::new();
        // A tree in memory is always readable.
        heads.extend(tree.frame(root).unwrap_or_default());
        heads.extend(tree.descendants(root, None).unwrap_or_default());
        Ok(heads)
    }

    fn frame(&self, id: &FrameId) -> Result<Option<Frame>, StackError> {
        Ok(self.0.borrow().tree.frames().get(id).cloned())
    }

    fn run(&mut self, actor: &Actor, command: &Command) -> Result<(), StackError> {
        // A commit of the store is one transaction: there is no half of it.
        if self.0.borrow_mut().pass("frames", Moment::Before) {
            return Err(dead());
        }
        self.change(actor, command)?;
        if self.0.borrow_mut().pass("frames", Moment::After) {
            return Err(dead());
        }
        Ok(())
    }

    fn context(&self, frame: &FrameId) -> Result<String, StackError> {
        let world = self.0.borrow();
        let found = world.tree.frames().get(frame);
        let title = found.map_or("", |frame| frame.title.as_str());
        Ok(format!("<context frame=\"{title}\"/>"))
    }

    fn keep(&mut self, _actor: &Actor, _messages: &[Value]) -> Result<(), StackError> {
        Ok(())
    }

    fn draw(&mut self) -> FrameId {
        let mut world = self.0.borrow_mut();
        world.drawn += 1;
        FrameId::from_entropy(world.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}
