//! A table, as Markdown that reads well in a terminal.

use unicode_width::UnicodeWidthStr as _;

/// Rows under headings. The first column is text, the others are figures.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self {
            rows: vec![headings.map(str::to_owned).into()],
        }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// The table as text.
    pub fn draw(&self) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.width()).max().unwrap_or_default()
            })
            .collect();
        let mut text = String::new();
        for (n, row) in self.rows.iter().enumerate() {
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let blank = " ".repeat(width.saturating_sub(cell.width()));
                if column == 0 {
                    text.push_str(&format!("| {cell}{blank} "));
                } else {
                    text.push_str(&format!("| {blank}{cell} "));
                }
            }
            text.push_str("|\n");
            if n == 0 {
                for (column, width) in widths.iter().enumerate() {
                    let line = "-".repeat(width + 1);
                    let end = if column == 0 { "-" } else { ":" };
                    text.push_str(&format!("|{line}{end}"));
                }
                text.push_str("|\n");
            }
        }
        text
    }
}

/// Prints a heading, a table and what is to be said about it.
pub fn print(heading: &str, table: &Table, remark: &str) {
    println!("\n## {heading}\n\n{}", table.draw());
    if !remark.is_empty() {
        println!("{remark}\n");
    }
}
