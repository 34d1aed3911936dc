//! Reading what was rendered, strictly, for tests.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event as Xml};

/// Reads XML strictly and says which attributes each element has, by path.
pub(super) fn read(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let allowed = |c: char| matches!(c, '\t' | '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(
        text.chars().all(allowed),
        "a character that XML does not allow"
    );
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    reader.config_mut().expand_empty_elements = false;
    let mut path: Vec<String> = Vec::new();
    let mut found = Vec::new();
    let element = |start: &BytesStart<'_>, path: &[String]| {
        let mut attributes = BTreeMap::new();
        for attribute in start.attributes().with_checks(true) {
            let attribute = attribute.unwrap();
            let key = attribute.key.0.to_owned();
            let raw = attribute.value.into_owned();
            assert!(!raw.contains(['<', '\n']), "{raw}");
            attributes.insert(key, unescape(&raw).unwrap().into_owned());
        }
        let name = start.name().0.to_owned();
        let mut path = path.to_vec();
        path.push(name);
        (path.join("/"), attributes)
    };
    loop {
        match reader.read_event().unwrap() {
            Xml::Start(start) => {
                found.push(element(&start, &path));
                path.push(start.name().0.to_owned());
            }
            Xml::Empty(start) => found.push(element(&start, &path)),
            Xml::End(_) => {
                path.pop().unwrap();
            }
            Xml::Text(text) => {
                let raw = text.to_string();
                assert!(!raw.contains("]]>"), "{raw}");
                assert!(
                    !path.is_empty() || raw.trim().is_empty(),
                    "text outside: {raw}"
                );
            }
            Xml::GeneralRef(name) => {
                let name = name.to_string();
                assert!(unescape(&format!("&{name};")).is_ok(), "{name}");
            }
            Xml::Eof => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(path.is_empty(), "not closed: {path:?}");
    found
}

/// The elements and attributes that `docs/stack-context.dtd` declares.
///
/// Not a validator: names are held against the content models, orders and numbers are not.
pub(super) struct Grammar {
    inside: BTreeMap<String, String>,
    attributes: BTreeMap<String, String>,
}

impl Grammar {
    pub(super) fn documented() -> Self {
        let mut dtd = include_str!("../../../../docs/stack-context.dtd").to_owned();
        for (name, value) in declarations(&dtd, "<!ENTITY % ") {
            dtd = dtd.replace(&format!("%{name};"), &value);
        }
        Self {
            inside: declarations(&dtd, "<!ELEMENT ").into_iter().collect(),
            attributes: declarations(&dtd, "<!ATTLIST ").into_iter().collect(),
        }
    }

    pub(super) fn check(&self, text: &str) {
        for (path, attributes) in read(text) {
            let mut names = path.rsplit('/');
            let name = names.next().unwrap();
            assert!(self.inside.contains_key(name), "{name} is not declared");
            if let Some(outer) = names.next() {
                assert!(
                    names_in(&self.inside[outer]).any(|inner| inner == name),
                    "{path}"
                );
            }
            for attribute in attributes.keys() {
                let declared = self.attributes.get(name).map(String::as_str);
                let mut declared = names_in(declared.unwrap_or_default());
                assert!(
                    declared.any(|known| known == attribute),
                    "{path} {attribute}"
                );
            }
        }
    }
}

fn declarations(dtd: &str, keyword: &str) -> Vec<(String, String)> {
    let declared = dtd.split(keyword).skip(1).map(|rest| {
        let (declaration, _) = rest.split_once('>').unwrap();
        let (name, value) = declaration.split_once(char::is_whitespace).unwrap();
        (name.to_owned(), value.trim().trim_matches('\'').to_owned())
    });
    declared.collect()
}

fn names_in(declaration: &str) -> impl Iterator<Item = &str> {
    declaration.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
}
