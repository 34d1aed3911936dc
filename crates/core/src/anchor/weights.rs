//! How much each feature of a name or a phrase counts. Written by `cargo xtask train`, which fits
//! them to recorded sessions (docs/quality.md); not to be edited by hand.

/// How likely a name is needed again in the same conversation.
pub const NAMES: [f32; super::worth::FEATURES] = [
    -0.6439, // always
    -0.4591, // age
    -0.0541, // age_by_model
    -0.7309, // never_by_model
    0.5755,  // by_model
    -0.1061, // outside
    -0.1057, // files
    0.2621,  // edited
    -0.0594, // read
    -0.0222, // prompted
    1.2423,  // last_prompt
    0.251,   // todo
    -0.3353, // failed
    0.3427,  // this_turn
    -0.0384, // span
    -0.1597, // length
    0.3663,  // path
    0.2722,  // identifier
    -0.258,  // address
    -0.0512, // reference
    -0.0897, // error_code
    -1.2835, // version
    0.3999,  // quantity
    0.1427,  // commands
    0.0643,  // prose
    -0.2336, // edits
    0.0,     // summarised
    -0.0039, // age_2
    -0.1393, // age_8
    -0.2064, // age_25
    -0.0668, // age_80
    0.1532,  // last_words
    -0.2362, // crowd
    -0.0277, // place
    0.4687,  // echo
    0.5714,  // echo_newest
    0.7041,  // home
    -0.0458, // home_age
    -0.4678, // home_edited
    -0.0231, // home_by_model
    -0.8054, // once
    0.0374,  // short_path
    0.1631,  // prose_only
];

/// How likely a phrase is needed again in the same conversation.
pub const PHRASES: [f32; crate::summary::phrase::FEATURES] = [
    -1.2909, // always
    -1.0903, // age
    0.1859,  // age_by_model
    0.8502,  // by_model
    -0.7799, // outside
    0.4659,  // by_model_twice
    -0.2059, // prompt
    -0.2521, // host_words
    -1.062,  // prose
    -0.8148, // plan
    1.2761,  // command
    0.8607,  // edit
    -0.093,  // call
    -0.7784, // output
    -0.2216, // failed_output
    0.0,     // summary
    0.1757,  // prompted
    -0.0097, // this_turn
    -0.478,  // age_1
    -0.6136, // age_3
    -0.5339, // age_8
    -0.3454, // age_20
    -0.3067, // age_50
    0.1934,  // model_age_3
    0.0388,  // model_age_10
    0.07,    // model_age_30
];

/// How likely a parent needs a name that a finished frame brought.
pub const RESULTS: [f32; super::worth::FEATURES] = [
    -0.7257, // always
    -0.3133, // age
    0.299,   // age_by_model
    -1.7009, // never_by_model
    1.1175,  // by_model
    -0.034,  // outside
    0.3554,  // files
    -0.5359, // edited
    -0.1377, // read
    0.4848,  // prompted
    0.4848,  // last_prompt
    0.0,     // todo
    -0.0688, // failed
    -0.7257, // this_turn
    -0.1384, // span
    -0.0479, // length
    0.5563,  // path
    0.3857,  // identifier
    -0.2527, // address
    -0.6485, // reference
    -0.0967, // error_code
    -0.3449, // version
    -0.3249, // quantity
    0.2028,  // commands
    1.7555,  // prose
    -0.2988, // edits
    0.0,     // summarised
    -0.8057, // age_2
    -0.1149, // age_8
    -0.1577, // age_25
    -0.7257, // age_80
    0.4747,  // last_words
    0.1962,  // crowd
    -0.3027, // place
    0.1779,  // echo
    0.1779,  // echo_newest
    -0.5943, // home
    0.0709,  // home_age
    -0.4838, // home_edited
    -0.1402, // home_by_model
    -0.1207, // once
    0.326,   // short_path
    -0.234,  // prose_only
];
