//! Shortage of room: the sections that are cut, and the omissions that are reported.

use crate::fixtures::{O200k, around, directive};
use crate::{Budget, ContextSettings, OmissionReason, SectionKind, Surroundings, assemble};
use flamestack_core::Author;
use flamestack_core::id::SessionRef;

fn within(total: usize) -> ContextSettings {
    ContextSettings {
        budget: Budget::new(total).unwrap(),
        ..ContextSettings::default()
    }
}

fn crowded() -> Surroundings {
    let mut drawing = String::from(
        "
        doing Build the shop
          criteria = Orders can be placed
          done Cart
            results = CartStore in src/cart.rs keeps what is to be paid
          failed Payment by cheque
            results = The bank has no interface for it
          * Payment
            criteria = POST /pay charges the card in the cart
",
    );
    for n in 0..30 {
        drawing.push_str(&format!("            planned Step {n} of the payment\n"));
    }
    around(&drawing)
}

#[test]
fn what_was_set_down_outlasts_many_prompts() {
    let mut around = around("* Payment\n  criteria = It works");
    around.directives = (1..=200)
        .map(|n| directive(&format!("Go on with step {n}, please"), n))
        .collect();
    around.directives.push(directive("Always use tabs", 0));
    let mut set_down = directive("Never touch the ledger", 50);
    set_down.session = SessionRef::shell("main");
    set_down.by = Author::User;
    around.directives.push(set_down);
    let context = assemble(&around, &within(600), &O200k);
    assert!(context.text.contains("Never touch the ledger"));
    assert!(context.text.contains("Always use tabs"));
    assert!(context.text.contains("step 200,"));
    assert!(!context.text.contains("step 2,"));
}

#[test]
fn a_part_of_nothing_gets_what_others_leave() {
    let settings = ContextSettings {
        budget: Budget {
            ancestors: 0,
            siblings: 0,
            current: 0,
            overhead: 0,
            ..Budget::default()
        },
        ..ContextSettings::default()
    };
    let context = assemble(&crowded(), &settings, &O200k);
    assert!(context.text.contains("CartStore"), "{}", context.text);
    assert!(context.text.contains("Step 29"));
}

#[test]
fn endless_texts_do_not_drive_out_the_mission() {
    let endless = "word after word ".repeat(3_000);
    let around = around(&format!(
        "
        doing Mission
          criteria = Ship version 2
          doing Mid
            criteria = {endless}
            doing Sub
              criteria = {endless}
              * PromptMessage
                criteria = It works
        "
    ));
    let context = assemble(&around, &ContextSettings::default(), &O200k);
    assert!(context.text.contains("Ship version 2"));
    assert!(context.text.contains("<title>Mid</title>"));
    assert!(context.tokens > 3_000, "{}", context.tokens);
}

#[test]
fn room_that_one_section_leaves_goes_to_another() {
    let around = crowded();
    let whole = assemble(&around, &within(100_000), &O200k);
    // Enough for everything, though not as the parts divide it.
    let tight = assemble(&around, &within(whole.tokens + 40), &O200k);
    assert!(tight.text.contains("Step 29"), "{}", tight.text);
    // With less, what is left unused is less than the shortest entry.
    let less = assemble(&around, &within(whole.tokens - 60), &O200k);
    assert!(less.budget.total() - less.tokens < 40, "{}", less.text);
}

#[test]
fn what_is_not_shown_is_named_however_little_room_there_is() {
    let around = crowded();
    for total in (256..900).step_by(20) {
        let context = assemble(&around, &within(total), &O200k);
        for section in &context.sections {
            let gone: usize = section.omitted.iter().map(|omission| omission.count).sum();
            if gone > 0 && section.body.is_empty() {
                let named = section.omitted.iter().all(|omission| {
                    let words = format!("{} {}", omission.count, omission.what);
                    context.text.contains(&words)
                });
                assert!(named, "{total}: {:?}\n{}", section.kind, context.text);
            }
        }
    }
}

#[test]
fn a_crowd_is_not_the_budgets_fault() {
    let mut around = crowded();
    around.planned.total = 10_000;
    let context = assemble(&around, &within(100_000), &O200k);
    let planned = context.section(SectionKind::Planned).unwrap();
    let reasons: Vec<_> = planned
        .omitted
        .iter()
        .map(|omission| (omission.count, omission.why))
        .collect();
    assert_eq!(reasons, [(9_970, OmissionReason::TooMany)]);
}
