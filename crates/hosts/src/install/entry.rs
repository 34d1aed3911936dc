//! The plugin's entry in a configuration file: finding, adding, updating and removing it.
//!
//! The file belongs to the user. Comments, formatting, line endings and a byte order mark stay as they
//! are. This module works on text only and does not access files.

use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::error::InstallError;
use super::plugin::FOLDER;

const BOM: char = '\u{feff}';

/// The format in which a configuration file lists plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFormat {
    /// OpenCode 1: `"plugin": [["file:///…", { … }]]`.
    V1,
    /// OpenCode 2: `"plugins": [{ "package": "file:///…", "options": { … } }]`.
    V2,
}

impl ConfigFormat {
    /// Returns the key of the list.
    pub fn key(self) -> &'static str {
        match self {
            Self::V1 => "plugin",
            Self::V2 => "plugins",
        }
    }
}

/// The entry that makes a host load the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginEntry {
    /// The format of the file.
    pub format: ConfigFormat,
    /// The URL of the plugin's file.
    pub url: String,
    /// The program that the plugin starts.
    pub command: String,
}

impl PluginEntry {
    /// Returns the entry as JSON.
    pub(super) fn value(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap_or_default()
    }

    /// Restores an entry from the manifest.
    pub(super) fn from_value(format: ConfigFormat, value: Value) -> Self {
        let found = FoundEntry::from_value(value).unwrap_or_default();
        Self {
            format,
            url: found.package,
            command: found.command.unwrap_or_default(),
        }
    }

    /// Formats the entry as JSON on one line.
    pub(super) fn line(&self) -> String {
        let (url, command) = (quoted(&self.url), quoted(&self.command));
        match self.format {
            ConfigFormat::V1 => format!("[{url}, {{ \"command\": {command} }}]"),
            ConfigFormat::V2 => {
                format!("{{ \"package\": {url}, \"options\": {{ \"command\": {command} }} }}")
            }
        }
    }

    /// Returns the file name in the URL, which identifies our entries.
    fn file_name(&self) -> &str {
        self.url.rsplit('/').next().unwrap_or_default()
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Our entry in a list of plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FoundEntry {
    /// The whole entry.
    pub(super) value: Value,
    /// The file that it loads.
    pub(super) package: String,
    /// The program that it starts.
    pub(super) command: Option<String>,
}

impl FoundEntry {
    fn from_value(value: Value) -> Option<Self> {
        let (package, options) = match &value {
            Value::String(_) => (Some(&value), None),
            Value::Array(parts) => (parts.first(), parts.get(1)),
            Value::Object(parts) => (parts.get("package"), parts.get("options")),
            _ => return None,
        };
        let command = options.and_then(|options| options.get("command"));
        Some(Self {
            package: package?.as_str()?.to_owned(),
            command: command.and_then(Value::as_str).map(str::to_owned),
            value,
        })
    }
}

/// A parsed configuration file.
pub(super) struct Document<'p> {
    path: &'p Path,
    has_bom: bool,
    root: CstRootNode,
}

impl<'p> Document<'p> {
    pub(super) fn parse(path: &'p Path, text: &str) -> Result<Self, InstallError> {
        let without_bom = text.strip_prefix(BOM);
        // Exactly what OpenCode accepts: the file must be valid for it too.
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
        let root = CstRootNode::parse(without_bom.unwrap_or(text), &options).map_err(|error| {
            InstallError::new(
                format!("{} is not valid JSON: {error}", path.display()),
                "nothing was changed; correct the file (comments and trailing commas are fine) and try again",
            )
        })?;
        Ok(Self {
            path,
            has_bom: without_bom.is_some(),
            root,
        })
    }

    fn text(&self) -> String {
        let text = self.root.to_string();
        if self.has_bom {
            format!("{BOM}{text}")
        } else {
            text
        }
    }

    /// Returns the file's object, which is created if the file is empty.
    fn object(&self) -> Result<CstObject, InstallError> {
        self.root.object_value_or_create().ok_or_else(|| {
            InstallError::unexpected(self.path, "the file should hold an object `{ … }`")
        })
    }

    /// Returns the list of plugins.
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
            let problem = format!("`{key}` occurs twice, and OpenCode uses only one of them");
            return Err(InstallError::unexpected(self.path, problem));
        }
        let list = property.array_value().ok_or_else(|| {
            let problem = format!("`{key}` should be a list `[ … ]` of plugins");
            InstallError::unexpected(self.path, problem)
        })?;
        Ok(Some(list))
    }

    /// Returns the elements of the list of plugins, if there is one.
    fn elements(&self, entry: &PluginEntry) -> Result<Option<Vec<CstNode>>, InstallError> {
        let Some(object) = self.root.object_value() else {
            return Ok(None);
        };
        let list = self.list(&object, entry.format.key())?;
        Ok(list.map(|list| list.elements()))
    }

    /// Finds our entry for a file of the plugin, even if the user wrote it.
    pub(super) fn find(&self, entry: &PluginEntry) -> Result<Option<FoundEntry>, InstallError> {
        let elements = self.elements(entry)?.unwrap_or_default();
        let ours = elements.iter().find(|one| is_ours(one, entry));
        Ok(ours.and_then(parse_element))
    }

    /// Finds an entry that loads the plugin as a package: from npm, or from the folder of one.
    pub(super) fn find_package(
        &self,
        entry: &PluginEntry,
    ) -> Result<Option<FoundEntry>, InstallError> {
        let elements = self.elements(entry)?.unwrap_or_default();
        let mut found = elements.iter().filter_map(parse_element);
        Ok(found.find(|found| is_package(&found.package)))
    }

    /// Returns true if there is a list of plugins.
    pub(super) fn has_list(&self, entry: &PluginEntry) -> Result<bool, InstallError> {
        Ok(self.elements(entry)?.is_some())
    }

    /// Returns the number of other plugins in the list.
    pub(super) fn count_others(&self, entry: &PluginEntry) -> Result<usize, InstallError> {
        let elements = self.elements(entry)?.unwrap_or_default();
        Ok(elements.iter().filter(|one| !is_ours(one, entry)).count())
    }

    /// Returns the text with the entry added or updated, or none if it is up to date. Other options
    /// in our entry stay.
    pub(super) fn with(&self, entry: &PluginEntry) -> Result<Option<String>, InstallError> {
        let object = self.object()?;
        let Some(list) = self.list(&object, entry.format.key())? else {
            // `jsonc_parser` would break an inserted array into lines. So a string is inserted, whose
            // raw text is then replaced by the entry.
            let placeholder = CstInputValue::Array(vec![CstInputValue::String(String::new())]);
            let property = object.append(entry.format.key(), placeholder);
            let list = property.array_value_or_set();
            replace_placeholder(list.elements().first(), entry);
            return Ok(Some(self.text()));
        };
        let ours = list.elements().into_iter().find(|one| is_ours(one, entry));
        let Some(element) = ours else {
            let element = list.append(CstInputValue::String(String::new()));
            replace_placeholder(Some(&element), entry);
            return Ok(Some(self.text()));
        };
        let is_current = parse_element(&element).is_some_and(|found| {
            found.package == entry.url && found.command.as_deref() == Some(&entry.command)
        });
        if is_current {
            return Ok(None);
        }
        update_element(&element, entry);
        Ok(Some(self.text()))
    }

    /// Returns the text without the entry, and without the list too if that is empty then and
    /// `with_empty_list` is true.
    pub(super) fn without(
        &self,
        entry: &PluginEntry,
        with_empty_list: bool,
    ) -> Result<String, InstallError> {
        let object = self.object()?;
        let key = entry.format.key();
        if let Some(list) = self.list(&object, key)? {
            let ours = list.elements().into_iter().find(|one| is_ours(one, entry));
            if let Some(element) = ours {
                element.remove();
            }
            if with_empty_list
                && list.elements().is_empty()
                && let Some(property) = object.get(key)
            {
                property.remove();
            }
        }
        Ok(self.text())
    }
}

/// Returns the text of a new file with nothing but the entry.
pub(super) fn new_file(schema: &str, entry: &PluginEntry) -> String {
    format!(
        "{{\n  \"$schema\": {},\n  {}: [{}]\n}}\n",
        quoted(schema),
        quoted(entry.format.key()),
        entry.line()
    )
}

/// Replaces a string by the raw text of the entry.
fn replace_placeholder(element: Option<&CstNode>, entry: &PluginEntry) {
    if let Some(placeholder) = element.and_then(CstNode::as_string_lit) {
        placeholder.set_raw_value(entry.line());
    }
}

/// Updates the URL and the program, and keeps everything else.
fn update_element(element: &CstNode, entry: &PluginEntry) {
    let options = match element {
        node if node.as_array().is_some() => {
            let elements = node.as_array().map(|array| array.elements());
            let elements = elements.unwrap_or_default();
            set_string(elements.first(), &entry.url);
            elements.get(1).and_then(CstNode::as_object)
        }
        node => node.as_object().and_then(|object| {
            let package = object.get("package").and_then(|package| package.value());
            set_string(package.as_ref(), &entry.url);
            object.object_value("options")
        }),
    };
    let Some(options) = options else {
        let placeholder = || CstInputValue::String(String::new());
        let placeholder = match (element.as_array(), element.as_object()) {
            (Some(array), _) => array.replace_with(placeholder()),
            (_, Some(object)) => object.replace_with(placeholder()),
            (None, None) => Some(element.clone()),
        };
        return replace_placeholder(placeholder.as_ref(), entry);
    };
    let command = CstInputValue::String(entry.command.clone());
    if let Some(property) = options.get("command") {
        property.set_value(command);
    } else {
        options.append("command", command);
    }
}

fn set_string(node: Option<&CstNode>, text: &str) {
    if let Some(string) = node.and_then(CstNode::as_string_lit) {
        string.set_raw_value(quoted(text));
    }
}

fn parse_element(element: &CstNode) -> Option<FoundEntry> {
    FoundEntry::from_value(element.to_serde_value()?)
}

/// Returns true if an element loads this file of our plugin from any folder. In a shared configuration,
/// the path may be one of another machine.
fn is_ours(element: &CstNode, entry: &PluginEntry) -> bool {
    let Some(found) = parse_element(element) else {
        return false;
    };
    let suffix = format!("/{FOLDER}/{}", entry.file_name());
    found.package == entry.url || found.package.replace('\\', "/").ends_with(&suffix)
}

/// Returns true if an entry names our package, with or without a version, or a path to its folder.
fn is_package(package: &str) -> bool {
    let path = package.replace('\\', "/");
    let path = path.trim_end_matches('/');
    let name = path.strip_prefix("npm:").unwrap_or(path);
    let is_named = |rest: &str| rest.is_empty() || rest.starts_with('@');
    name.strip_prefix(FOLDER).is_some_and(is_named)
        || path.ends_with(&format!("/{FOLDER}"))
        || path.contains(&format!("/{FOLDER}/dist/"))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn entry() -> PluginEntry {
        PluginEntry {
            format: ConfigFormat::V1,
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
    fn adding_and_removing_an_entry_restores_the_text() {
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
            let empty_list = !text.contains("plugin");
            let without = document(&with).without(&entry(), empty_list).unwrap();
            assert_eq!(without, text, "from {with:?}");
        }
    }

    #[test]
    fn line_endings_and_a_byte_order_mark_stay() {
        let with = added("\u{feff}{\r\n  \"model\": \"a/b\"\r\n}\r\n");
        assert!(with.starts_with("\u{feff}{\r\n"), "{with:?}");
        assert_eq!(with.matches('\n').count(), with.matches("\r\n").count());
    }

    #[test]
    fn an_entry_is_updated_in_place() {
        let updated =
            |element: &str| added(&format!("{{ \"plugin\": [\"a\", {element}, \"b\"] }}"));
        assert_snapshot!(updated("[\"file:///home/bob/flamestack-opencode/index.ts\", { \"tools\": \"full\", \"command\": \"/old/flame\" }]"), @r#"{ "plugin": ["a", ["file:///data/flamestack-opencode/index.ts", { "tools": "full", "command": "/bin/flame" }], "b"] }"#);
        assert_snapshot!(updated("\"file:///data/flamestack-opencode/index.ts\""), @r#"{ "plugin": ["a", ["file:///data/flamestack-opencode/index.ts", { "command": "/bin/flame" }], "b"] }"#);
        assert_snapshot!(updated("[\"file:///data/flamestack-opencode/index.ts\"]"), @r#"{ "plugin": ["a", ["file:///data/flamestack-opencode/index.ts", { "command": "/bin/flame" }], "b"] }"#);
        assert_snapshot!(updated("[\"file:///data/flamestack-opencode/index.ts\", { /* none */ }]"), @r#"
        { "plugin": ["a", ["file:///data/flamestack-opencode/index.ts", {
                /* none */
                "command": "/bin/flame"
              }], "b"] }
        "#);
    }

    #[test]
    fn a_package_is_known_by_its_name_and_by_its_folder() {
        let found = |package: &str| {
            let text = format!("{{ \"plugin\": [\"other\", [\"{package}\", {{}}]] }}");
            document(&text).find_package(&entry()).unwrap().is_some()
        };
        for package in [
            "flamestack-opencode",
            "flamestack-opencode@1.2.3",
            "npm:flamestack-opencode@latest",
            "/home/ada/flamestack-opencode/",
            "file:///p/node_modules/flamestack-opencode/dist/index.js",
        ] {
            assert!(found(package), "{package}");
        }
        for other in [
            "flamestack-opencode-extras",
            "my-flamestack-opencode",
            "file:///data/flamestack-opencode/index.ts",
        ] {
            assert!(!found(other), "{other}");
        }
    }

    #[test]
    fn the_second_format_has_another_list() {
        let entry = PluginEntry {
            format: ConfigFormat::V2,
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
    fn problems_are_described() {
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
        assert_snapshot!(problem("{ \"plugin\": [], \"plugin\": [] }"), @"opencode.json: `plugin` occurs twice, and OpenCode uses only one of them");
    }
}
