//! Raw text that is kept for a time.

use std::time::Duration;

use flamestack_engine::recall::Patience;
use flamestack_store::Orphans;

use crate::ground::{Ground, actor};

const ME: &str = "opencode:me";
const DAY: i64 = 24 * 60 * 60 * 1000;

impl Ground {
    fn keep_text(&self, text: &str) {
        let logs = self.engine.logs();
        logs.append(&actor(ME), None, "build", text, None).unwrap();
    }

    /// Deletes raw text older than some days and returns the number of texts.
    fn expire(&self, days: u64) -> usize {
        let maintenance = self.engine.maintenance();
        let keep = maintenance.retention(u64::MAX, days);
        let collected =
            maintenance.collect(&actor(ME), &keep, Orphans::Careful, Duration::ZERO, &|| {
                true
            });
        collected.unwrap().expired.len()
    }

    fn finds(&self, word: &str) -> bool {
        let recall = self.engine.recall();
        let found = recall.search(word, 5, Patience::Unlimited, &mut |_, _| {});
        !found.unwrap().searched.hits.is_empty()
    }
}

#[test]
fn raw_text_beyond_the_age_limit_is_gone_and_everything_else_stays() {
    let mut ground = Ground::new();
    ground.push(ME, "Finished long ago");
    ground.keep_text("aardvark");
    ground.pop(ME, "It works.");
    ground.push(ME, "Still open");
    ground.keep_text("badger");
    ground.at(100 * DAY);
    ground.keep_text("capybara");
    // The same text once more is as young as its last mention.
    ground.keep_text("dormouse");
    ground.at(200 * DAY);
    ground.keep_text("dormouse");
    assert!(ground.finds("aardvark") && ground.finds("badger"));

    assert_eq!(ground.expire(0), 0, "0 keeps everything");
    assert_eq!(ground.expire(300), 0);
    assert_eq!(ground.expire(150), 2, "that of an open frame too");
    for (word, is_kept) in [
        ("aardvark", false),
        ("badger", false),
        ("capybara", true),
        ("dormouse", true),
        ("Finished", true),
        ("works", true),
    ] {
        assert_eq!(ground.finds(word), is_kept, "{word}");
    }
    assert_eq!(ground.expire(150), 0, "once");
    assert_eq!(ground.expire(50), 1);
    assert!(ground.finds("dormouse") && !ground.finds("capybara"));
    let examined = ground.engine.maintenance().examine(&mut |_, _| {});
    assert!(examined.is_healthy(), "{examined:?}");
}
