//! A context as a table: the tokens of its sections, and what was left out of them.

use flamestack_context::{Context, Omission};

use super::{counted, grouped};

/// Renders the sections with their tokens and their share of the budget, what was left out of each
/// and why, and the sum.
pub fn plain(context: &Context) -> String {
    let total = context.budget.total();
    let mut text = format!("{:<20} {:>6} {:>7}  shown\n", "section", "tokens", "share");
    let mut inside = 0;
    for section in &context.sections {
        inside += section.tokens;
        let shown = section.shown.to_string();
        text.push_str(&row(section.kind.as_str(), section.tokens, total, &shown));
        for omission in &section.omitted {
            text.push_str(&left_out(omission));
        }
    }
    let around = context.tokens.saturating_sub(inside);
    text.push_str(&row("markup", around, total, ""));
    text.push_str(&row("all", context.tokens, total, ""));
    text.push_str(&format!(
        "\n{} of {} tokens by {}, as of event {}\n",
        grouped(context.tokens as u64),
        grouped(total as u64),
        context.tokenizer,
        context.position.0
    ));
    let budget = &context.budget;
    let parts = [
        ("ancestors", budget.ancestors),
        ("siblings", budget.siblings),
        ("current", budget.current),
        ("overhead", budget.overhead),
    ];
    let parts = parts.map(|(name, tokens)| format!("{name} {}", grouped(tokens as u64)));
    text.push_str(&format!("if it does not all fit: {}\n", parts.join(", ")));
    text
}

fn row(name: &str, tokens: usize, total: usize, shown: &str) -> String {
    let per_mille = tokens * 1000 / total.max(1);
    let share = format!("{}.{} %", per_mille / 10, per_mille % 10);
    let tokens = grouped(tokens as u64);
    let row = format!("{name:<20} {tokens:>6} {share:>7}  {shown}");
    format!("{}\n", row.trim_end())
}

fn left_out(omission: &Omission) -> String {
    let what = if omission.what.starts_with("part of") {
        omission.what.clone()
    } else {
        counted(
            omission.count as u64,
            &one_of(&omission.what),
            &omission.what,
        )
    };
    let why = omission.why.as_str();
    format!("  left out: {what} ({why}), see `{}`\n", omission.call)
}

/// Returns the singular of a plural.
fn one_of(several: &str) -> String {
    match several.strip_suffix("children") {
        Some(before) => format!("{before}child"),
        None if several == "children's results" => "child's results".to_owned(),
        None => several.strip_suffix('s').unwrap_or(several).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::one_of;

    #[test]
    fn plurals_have_singulars() {
        let plurals = [
            "uncles",
            "completed siblings",
            "planned children",
            "children's results",
        ];
        assert_eq!(
            plurals.map(one_of),
            [
                "uncle",
                "completed sibling",
                "planned child",
                "child's results"
            ]
        );
    }
}
