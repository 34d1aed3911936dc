//! How much each feature of a name or a phrase counts. Written by `cargo xtask train`, which fits
//! them to recorded sessions; not to be edited by hand.

/// How likely a name is needed again in the same conversation.
pub const NAMES: [f32; super::worth::FEATURES] = [
    -0.7173, // always
    -0.4632, // age
    -0.0531, // age_by_model
    -0.7246, // never_by_model
    0.5754,  // by_model
    -0.1073, // outside
    -0.1089, // files
    0.2609,  // edited
    -0.0622, // read
    0.0036,  // prompted
    1.2031,  // last_prompt
    0.2538,  // todo
    -0.3275, // failed
    0.3453,  // this_turn
    -0.0375, // span
    -0.1479, // length
    0.4337,  // path
    0.3468,  // identifier
    -0.2152, // address
    0.0206,  // reference
    -0.081,  // error_code
    -1.2222, // version
    -1.0,    // quantity
    0.139,   // commands
    0.0629,  // prose
    -0.2339, // edits
    0.0,     // summarised
    -0.0062, // age_2
    -0.1461, // age_8
    -0.2052, // age_25
    -0.0837, // age_80
    0.1595,  // last_words
    -0.2367, // crowd
    -0.0283, // place
    0.4685,  // echo
    0.5712,  // echo_newest
    0.7058,  // home
    -0.0448, // home_age
    -0.4676, // home_edited
    -0.0248, // home_by_model
    -0.8226, // once
    0.0495,  // short_path
    0.1258,  // prose_only
];

/// How likely a phrase is needed again in the same conversation.
pub const PHRASES: [f32; crate::summary::phrase::FEATURES] = [
    -1.1748, // always
    -0.8625, // age
    0.0806,  // age_by_model
    1.0359,  // by_model
    -0.8876, // outside
    0.3712,  // by_model_twice
    0.5555,  // prompt
    -0.3963, // host_words
    -1.0462, // prose
    0.2578,  // plan
    0.6999,  // command
    0.4763,  // edit
    -0.3241, // call
    -0.9526, // output
    -0.445,  // failed_output
    0.0,     // summary
    0.702,   // prompted
    0.1417,  // this_turn
    -0.1221, // age_1
    -0.4796, // age_3
    -0.3562, // age_8
    -0.415,  // age_20
    -0.3969, // age_50
    0.1259,  // model_age_3
    -0.0288, // model_age_10
    0.1068,  // model_age_30
];

/// How likely a parent needs a name that a finished frame brought.
pub const RESULTS: [f32; super::worth::FEATURES] = [
    -0.7847, // always
    -0.3506, // age
    0.2005,  // age_by_model
    -1.6148, // never_by_model
    1.0631,  // by_model
    -0.0877, // outside
    0.3903,  // files
    -0.5277, // edited
    -0.2265, // read
    0.665,   // prompted
    0.665,   // last_prompt
    0.0,     // todo
    -0.0352, // failed
    -0.3134, // this_turn
    -0.2231, // span
    -0.1545, // length
    0.3879,  // path
    0.0359,  // identifier
    -0.2247, // address
    -0.5542, // reference
    -0.0905, // error_code
    -0.3389, // version
    -1.0,    // quantity
    0.182,   // commands
    1.7205,  // prose
    -0.3371, // edits
    0.0,     // summarised
    -0.8952, // age_2
    -0.1468, // age_8
    -0.1901, // age_25
    -0.7847, // age_80
    0.4956,  // last_words
    0.2033,  // crowd
    -0.2894, // place
    0.5066,  // echo
    0.5066,  // echo_newest
    -0.4641, // home
    0.07,    // home_age
    -0.5685, // home_edited
    -0.0556, // home_by_model
    -0.2508, // once
    0.296,   // short_path
    -0.1986, // prose_only
];
