//! The plugin's entry in a configuration file: finding it, adding it, mending it, taking it out.
//!
//! The file is the user's. Comments, formatting, line ends and a byte order mark stay as they are;
//! text in, text out, no files are touched here.

use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Value, json};

use super::error::InstallError;
use super::plugin::FOLDER;

const BOM: char = '\u{feff}';

/// How a host's configuration names plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenCode 1: `"plugin": [["file:///…", { … }]]`.
    One,
    /// OpenCode 2: `"plugins": [{ "package": "file:///…", "options": { … } }]`.
    Two,
}

impl Dialect {
    /// The name of the list.
    pub fn key(self) -> &'static str {
        match self {
            Self::One => "plugin",
            Self::Two => "plugins",
        }
    }
}

/// The entry that makes a host load the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How it is written.
    pub dialect: Dialect,
    /// Where the plugin is.
    pub url: String,
    /// The program that the plugin starts.
    pub command: String,
}

impl Entry {
    /// The entry as JSON.
    pub(super) fn value(&self) -> Value {
        let options = json!({ "command": self.command });
        match self.dialect {
            Dialect::One => json!([self.url, options]),
            Dialect::Two => json!({ "package": self.url, "options": options }),
        }
    }

    /// An entry as it was recorded.
    pub(super) fn from_value(dialect: Dialect, value: &Value) -> Self {
        let word = |path: &str| value.pointer(path).and_then(Value::as_str);
        let (url, command) = match dialect {
            Dialect::One => (word("/0"), word("/1/command")),
            Dialect::Two => (word("/package"), word("/options/command")),
        };
        Self {
            dialect,
            url: url.unwrap_or_default().to_owned(),
            command: command.unwrap_or_default().to_owned(),
        }
    }

    /// The entry on one line.
    pub(super) fn line(&self) -> String {
        let (url, command) = (quoted(&self.url), quoted(&self.command));
        match self.dialect {
            Dialect::One => format!("[{url}, {{ \"command\": {command} }}]"),
            Dialect::Two => {
                format!("{{ \"package\": {url}, \"options\": {{ \"command\": {command} }} }}")
            }
        }
    }

    /// The last part of the address, by which an entry of ours is known.
    fn file(&self) -> &str {
        self.url.rsplit('/').next().unwrap_or_default()
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// What a list of plugins has of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The whole entry.
    pub(super) value: Value,
    /// What it loads.
    pub(super) package: String,
    /// The program that it names.
    pub(super) command: Option<String>,
}

/// A configuration file's text, understood.
pub(super) struct Document<'p> {
    path: &'p Path,
    marked: bool,
    root: CstRootNode,
}

impl<'p> Document<'p> {
    pub(super) fn parse(path: &'p Path, text: &str) -> Result<Self, InstallError> {
        let bare = text.strip_prefix(BOM);
        // What OpenCode itself takes, and no more: the file must be as good for it as for us.
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let root = CstRootNode::parse(bare.unwrap_or(text), &options).map_err(|error| {
            InstallError::NotJson {
                path: path.to_owned(),
                problem: error.to_string(),
            }
        })?;
        Ok(Self {
            path,
            marked: bare.is_some(),
            root,
        })
    }

    fn text(&self) -> String {
        let text = self.root.to_string();
        if self.marked {
            format!("{BOM}{text}")
        } else {
            text
        }
    }

    /// The object that the file holds; an empty file holds an empty one.
    fn object(&self) -> Result<CstObject, InstallError> {
        self.root.object_value_or_create().ok_or_else(|| {
            InstallError::unexpected(self.path, "the file should hold an object `{ … }`")
        })
    }

    /// The list of plugins, if there is one.
    fn list(&self, object: &CstObject, key: &str) -> Result<Option<CstArray>, InstallError> {
        let named = |name: Option<String>| name.as_deref() == Some(key);
        let mut lists = object.properties().into_iter().filter(|property| {
            let name = property.name();
            named(name.and_then(|name| name.decoded_value().ok()))
        });
        let Some(property) = lists.next() else {
            return Ok(None);
        };
        if lists.next().is_some() {
            let problem = format!("`{key}` is there twice, and only one of them can count");
            return Err(InstallError::unexpected(self.path, problem));
        }
        match property.array_value() {
            Some(list) => Ok(Some(list)),
            None => Err(InstallError::unexpected(
                self.path,
                format!("`{key}` should be a list `[ … ]` of plugins"),
            )),
        }
    }

    /// Our entry for a file of the plugin, whoever wrote it.
    pub(super) fn find(&self, entry: &Entry) -> Result<Option<Found>, InstallError> {
        let Some(object) = self.root.object_value() else {
            return Ok(None);
        };
        let list = self.list(&object, entry.dialect.key())?;
        Ok(list.and_then(|list| {
            let ours = list.elements().into_iter().find(|one| is_ours(one, entry));
            ours.and_then(|element| found(&element))
        }))
    }

    /// Whether there is a list of plugins at all.
    pub(super) fn has_list(&self, entry: &Entry) -> Result<bool, InstallError> {
        let Some(object) = self.root.object_value() else {
            return Ok(false);
        };
        Ok(self.list(&object, entry.dialect.key())?.is_some())
    }

    /// What the list names besides our entry.
    pub(super) fn others(&self, entry: &Entry) -> Result<usize, InstallError> {
        let Some(object) = self.root.object_value() else {
            return Ok(0);
        };
        let list = self.list(&object, entry.dialect.key())?;
        let elements = list.map(|list| list.elements()).unwrap_or_default();
        Ok(elements.iter().filter(|one| !is_ours(one, entry)).count())
    }

    /// The text with the entry in it; nothing where it is there already. What else the user put
    /// into our entry stays.
    pub(super) fn with(&self, entry: &Entry) -> Result<Option<String>, InstallError> {
        let object = self.object()?;
        let Some(list) = self.list(&object, entry.dialect.key())? else {
            // The list is made with a word in it, which then becomes the entry: this way it stays
            // on one line.
            let word = CstInputValue::Array(vec![CstInputValue::String(String::new())]);
            let property = object.append(entry.dialect.key(), word);
            let list = property.array_value_or_set();
            write_over(list.elements().first(), entry);
            return Ok(Some(self.text()));
        };
        let ours = list.elements().into_iter().find(|one| is_ours(one, entry));
        let Some(element) = ours else {
            let element = list.append(CstInputValue::String(String::new()));
            write_over(Some(&element), entry);
            return Ok(Some(self.text()));
        };
        let there = found(&element);
        let as_wanted = there.as_ref().is_some_and(|found| {
            found.package == entry.url && found.command.as_deref() == Some(&entry.command)
        });
        if as_wanted {
            return Ok(None);
        }
        mend(&element, entry);
        Ok(Some(self.text()))
    }

    /// The text without the entry, and without the list if that is empty then and was made for it.
    pub(super) fn without(&self, entry: &Entry, list_too: bool) -> Result<String, InstallError> {
        let object = self.object()?;
        let key = entry.dialect.key();
        if let Some(list) = self.list(&object, key)? {
            let ours = list.elements().into_iter().find(|one| is_ours(one, entry));
            if let Some(element) = ours {
                element.remove();
            }
            let empty = list_too && list.elements().is_empty();
            if let Some(property) = object.get(key).filter(|_| empty) {
                property.remove();
            }
        }
        Ok(self.text())
    }
}

/// The text of a new file with nothing but the entry.
pub(super) fn new_file(schema: &str, entry: &Entry) -> String {
    format!(
        "{{\n  \"$schema\": {},\n  {}: [{}]\n}}\n",
        quoted(schema),
        quoted(entry.dialect.key()),
        entry.line()
    )
}

/// Replaces a word by the entry's text, as it is.
fn write_over(element: Option<&CstNode>, entry: &Entry) {
    if let Some(word) = element.and_then(CstNode::as_string_lit) {
        word.set_raw_value(entry.line());
    }
}

/// Corrects the address and the program, and leaves what else there is.
fn mend(element: &CstNode, entry: &Entry) {
    let options = match element {
        node if node.as_array().is_some() => {
            let elements = node.as_array().map(|array| array.elements());
            let elements = elements.unwrap_or_default();
            set_word(elements.first(), &entry.url);
            elements.get(1).and_then(CstNode::as_object)
        }
        node => node.as_object().and_then(|object| {
            let package = object.get("package").and_then(|package| package.value());
            set_word(package.as_ref(), &entry.url);
            object.object_value("options")
        }),
    };
    let Some(options) = options else {
        let word = || CstInputValue::String(String::new());
        let word = match (element.as_array(), element.as_object()) {
            (Some(array), _) => array.replace_with(word()),
            (_, Some(object)) => object.replace_with(word()),
            (None, None) => Some(element.clone()),
        };
        return write_over(word.as_ref(), entry);
    };
    let command = CstInputValue::String(entry.command.clone());
    if let Some(there) = options.get("command") {
        there.set_value(command);
    } else {
        options.append("command", command);
    }
}

fn set_word(node: Option<&CstNode>, text: &str) {
    if let Some(word) = node.and_then(CstNode::as_string_lit) {
        word.set_raw_value(quoted(text));
    }
}

fn found(element: &CstNode) -> Option<Found> {
    let value = element.to_serde_value()?;
    let (package, options) = match &value {
        Value::String(package) => (package.clone(), None),
        Value::Array(parts) => (parts.first()?.as_str()?.to_owned(), parts.get(1)),
        Value::Object(parts) => {
            let package = parts.get("package")?.as_str()?.to_owned();
            (package, parts.get("options"))
        }
        _ => return None,
    };
    let command = options.and_then(|options| options.get("command"));
    let command = command.and_then(Value::as_str).map(str::to_owned);
    Some(Found {
        value,
        package,
        command,
    })
}

/// Whether an element loads this file of our plugin, from wherever. The path is that of another
/// machine where a configuration was shared.
fn is_ours(element: &CstNode, entry: &Entry) -> bool {
    let Some(found) = found(element) else {
        return false;
    };
    let tail = format!("/{FOLDER}/{}", entry.file());
    found.package == entry.url || found.package.replace('\\', "/").ends_with(&tail)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn entry() -> Entry {
        Entry {
            dialect: Dialect::One,
            url: "file:///data/flamestack-opencode/index.ts".to_owned(),
            command: "/bin/flame".to_owned(),
        }
    }

    fn document(text: &str) -> Document<'static> {
        Document::parse(Path::new("opencode.json"), text).unwrap()
    }

    fn added(text: &str) -> String {
        document(text).with(&entry()).unwrap().unwrap()
    }

    #[test]
    fn comments_and_formatting_stay() {
        assert_snapshot!(added("{\n    // mine\n    \"model\": \"a/b\", // best\n    \"plugin\": [\n        \"other\", // keep\n    ],\n}\n"), @r#"
        {
            // mine
            "model": "a/b", // best
            "plugin": [
                "other", // keep
                ["file:///data/flamestack-opencode/index.ts", { "command": "/bin/flame" }],
            ],
        }
        "#);
        assert_snapshot!(added("{\"plugin\":[\"other\"]}"), @r#"{"plugin":["other", ["file:///data/flamestack-opencode/index.ts", { "command": "/bin/flame" }]]}"#);
        assert_snapshot!(added("{ \"model\": \"a/b\" }"), @r#"
        {
          "model": "a/b",
          "plugin": [["file:///data/flamestack-opencode/index.ts", { "command": "/bin/flame" }]]
        }
        "#);
        assert_snapshot!(added("{\n  \"model\": \"a/b\"\n}\n"), @r#"
        {
          "model": "a/b",
          "plugin": [["file:///data/flamestack-opencode/index.ts", { "command": "/bin/flame" }]]
        }
        "#);
        assert_snapshot!(added("{\n\t\"plugin\": []\n}\n"), @r#"
        {
        	"plugin": [["file:///data/flamestack-opencode/index.ts", { "command": "/bin/flame" }]]
        }
        "#);
        assert_snapshot!(added("{}"), @r#"
        {
          "plugin": [["file:///data/flamestack-opencode/index.ts", { "command": "/bin/flame" }]]
        }
        "#);
        assert_snapshot!(added(""), @r#"
        {
          "plugin": [["file:///data/flamestack-opencode/index.ts", { "command": "/bin/flame" }]]
        }
        "#);
    }

    #[test]
    fn an_entry_that_was_added_can_be_taken_out_without_a_trace() {
        for text in [
            "{\n    // mine\n    \"model\": \"a/b\", // best\n    \"plugin\": [\n        \"other\", // keep\n    ],\n}\n",
            "{\"plugin\":[\"other\"]}",
            "{\n  \"plugin\": [\n    \"other\",\n    \"more\"\n  ]\n}\n",
            "{\n  \"model\": \"a/b\"\n}\n",
            "{\r\n  \"model\": \"a/b\"\r\n}\r\n",
            "{\n  \"model\": \"a/b\", // best\n}\n",
            "{\n\t\"plugin\": []\n}\n",
            "\u{feff}{\n  \"model\": \"a/b\"\n}\n",
        ] {
            let with = added(text);
            assert_eq!(document(&with).with(&entry()).unwrap(), None, "{text:?}");
            let list_too = !text.contains("plugin");
            let without = document(&with).without(&entry(), list_too).unwrap();
            assert_eq!(without, text, "by way of {with:?}");
        }
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_stay() {
        let with = added("\u{feff}{\r\n  \"model\": \"a/b\"\r\n}\r\n");
        assert!(with.starts_with("\u{feff}{\r\n"), "{with:?}");
        assert_eq!(with.matches('\n').count(), with.matches("\r\n").count());
    }

    #[test]
    fn an_entry_is_mended_where_it_stands() {
        let mended = |element: &str| added(&format!("{{ \"plugin\": [\"a\", {element}, \"b\"] }}"));
        assert_snapshot!(mended("[\"file:///home/bob/flamestack-opencode/index.ts\", { \"tools\": \"full\", \"command\": \"/old/flame\" }]"), @r#"{ "plugin": ["a", ["file:///data/flamestack-opencode/index.ts", { "tools": "full", "command": "/bin/flame" }], "b"] }"#);
        assert_snapshot!(mended("\"file:///data/flamestack-opencode/index.ts\""), @r#"{ "plugin": ["a", ["file:///data/flamestack-opencode/index.ts", { "command": "/bin/flame" }], "b"] }"#);
        assert_snapshot!(mended("[\"file:///data/flamestack-opencode/index.ts\"]"), @r#"{ "plugin": ["a", ["file:///data/flamestack-opencode/index.ts", { "command": "/bin/flame" }], "b"] }"#);
        assert_snapshot!(mended("[\"file:///data/flamestack-opencode/index.ts\", { /* none */ }]"), @r#"
        { "plugin": ["a", ["file:///data/flamestack-opencode/index.ts", {
                /* none */
                "command": "/bin/flame"
              }], "b"] }
        "#);
    }

    #[test]
    fn the_second_dialect_has_another_list() {
        let entry = Entry {
            dialect: Dialect::Two,
            ..entry()
        };
        let text = document("{\n  \"plugins\": [\"-opencode.x\"]\n}\n")
            .with(&entry)
            .unwrap();
        assert_snapshot!(text.unwrap(), @r#"
        {
          "plugins": ["-opencode.x", { "package": "file:///data/flamestack-opencode/index.ts", "options": { "command": "/bin/flame" } }]
        }
        "#);
        let moved = "{ \"plugins\": [{ \"package\": \"/x/flamestack-opencode/index.ts\", \"options\": { \"command\": \"old\", \"k\": 1 } }] }";
        assert_snapshot!(document(moved).with(&entry).unwrap().unwrap(), @r#"{ "plugins": [{ "package": "file:///data/flamestack-opencode/index.ts", "options": { "command": "/bin/flame", "k": 1 } }] }"#);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let problem = |text: &str| {
            let document = Document::parse(Path::new("opencode.json"), text);
            let failed = document.and_then(|document| document.with(&entry()));
            failed.unwrap_err().to_string()
        };
        assert_snapshot!(problem("{ \"plugin\": [ }"), @"opencode.json is not valid JSON: Unexpected close brace on line 1 column 15");
        assert_snapshot!(problem("{ plugin: [] }"), @"opencode.json is not valid JSON: Expected string for object property on line 1 column 3");
        assert_snapshot!(problem("{ \"a\": 1 \"b\": 2 }"), @"opencode.json is not valid JSON: Expected comma on line 1 column 9");
        assert_snapshot!(problem("[]"), @"opencode.json: the file should hold an object `{ … }`");
        assert_snapshot!(problem("{ \"plugin\": \"other\" }"), @"opencode.json: `plugin` should be a list `[ … ]` of plugins");
        assert_snapshot!(problem("{ \"plugin\": [], \"plugin\": [] }"), @"opencode.json: `plugin` is there twice, and only one of them can count");
    }
}
