// Made from crates/engine/src/tools by `cargo xtask generate`.

import type { CommandDeclaration, ToolDeclaration } from "./protocol.js"

/** The version of Flamestack that this was made from. */
export const VERSION = "0.1.0"

/** All tools. */
export const TOOLS: ToolDeclaration[] = [
  {
    "description": "Open a child frame of the active frame and make it active: a unit of work with its own goal. Its messages can be folded away once it is popped.",
    "name": "stack_frame_push",
    "schema": {
      "properties": {
        "successCriteria": {
          "description": "What defines done",
          "type": "string"
        },
        "successCriteriaCompacted": {
          "description": "Dense version; derived when absent",
          "type": "string"
        },
        "title": {
          "description": "Short name, 2-5 words",
          "type": "string"
        }
      },
      "required": [
        "title",
        "successCriteria"
      ],
      "type": "object"
    }
  },
  {
    "description": "Finish a frame (by default the active one) and return to its parent. The results are what the parent keeps of it; without them a summary is made.",
    "name": "stack_frame_pop",
    "schema": {
      "properties": {
        "frameID": {
          "description": "Frame to pop, if not the active one",
          "type": "string"
        },
        "results": {
          "description": "What was done or learned: files, names, decisions, open ends",
          "type": "string"
        },
        "resultsCompacted": {
          "description": "Dense version; derived when absent",
          "type": "string"
        },
        "status": {
          "enum": [
            "completed",
            "failed",
            "blocked"
          ],
          "type": "string"
        },
        "summarize": {
          "description": "Append a summary to the results",
          "type": "boolean"
        }
      },
      "required": [
        "status"
      ],
      "type": "object"
    }
  },
  {
    "description": "Plan one frame for later, below the active frame or the one named.",
    "name": "stack_frame_plan",
    "schema": {
      "properties": {
        "parentSessionID": {
          "description": "Parent frame id, if not the active frame",
          "type": "string"
        },
        "successCriteria": {
          "type": "string"
        },
        "successCriteriaCompacted": {
          "type": "string"
        },
        "title": {
          "type": "string"
        }
      },
      "required": [
        "title",
        "successCriteria"
      ],
      "type": "object"
    }
  },
  {
    "description": "Plan several frames at once, in order, below the active frame or the one named. Each may have children of its own.",
    "name": "stack_frame_plan_children",
    "schema": {
      "properties": {
        "children": {
          "items": {
            "properties": {
              "children": {
                "description": "Frames below it, of the same shape",
                "items": {
                  "type": "object"
                },
                "type": "array"
              },
              "successCriteria": {
                "type": "string"
              },
              "successCriteriaCompacted": {
                "type": "string"
              },
              "title": {
                "type": "string"
              }
            },
            "required": [
              "title",
              "successCriteria"
            ],
            "type": "object"
          },
          "type": "array"
        },
        "parentSessionID": {
          "description": "Parent frame id, if not the active frame",
          "type": "string"
        }
      },
      "required": [
        "children"
      ],
      "type": "object"
    }
  },
  {
    "description": "Switch to a frame, starting it if it is planned or blocked.",
    "name": "stack_frame_activate",
    "schema": {
      "properties": {
        "sessionID": {
          "description": "Frame id",
          "type": "string"
        }
      },
      "required": [
        "sessionID"
      ],
      "type": "object"
    }
  },
  {
    "description": "Give up a frame (by default the active one) and the planned frames below it. Work in progress below it is reported and left alone.",
    "name": "stack_frame_invalidate",
    "schema": {
      "properties": {
        "reason": {
          "type": "string"
        },
        "sessionID": {
          "description": "Frame id, if not the active one",
          "type": "string"
        }
      },
      "required": [
        "reason"
      ],
      "type": "object"
    }
  },
  {
    "description": "Record a decision in the active frame. It survives compaction.",
    "name": "stack_add_decision",
    "schema": {
      "properties": {
        "decision": {
          "type": "string"
        },
        "reason": {
          "type": "string"
        }
      },
      "required": [
        "decision"
      ],
      "type": "object"
    }
  },
  {
    "description": "Record a file or resource that the active frame produced.",
    "name": "stack_add_artifact",
    "schema": {
      "properties": {
        "artifact": {
          "type": "string"
        }
      },
      "required": [
        "artifact"
      ],
      "type": "object"
    }
  },
  {
    "description": "Where this session stands: the path to the active frame, its place, what is next, the tree.",
    "name": "stack_status",
    "schema": {
      "properties": {},
      "type": "object"
    }
  },
  {
    "description": "The tree of frames with statuses, counts and a legend.",
    "name": "stack_tree",
    "schema": {
      "properties": {
        "rootID": {
          "description": "Only below this frame",
          "type": "string"
        },
        "showDetails": {
          "description": "Criteria and results too",
          "type": "boolean"
        },
        "showFull": {
          "description": "Finished work too",
          "type": "boolean"
        },
        "status": {
          "description": "Only frames with this status, and those above them",
          "enum": [
            "planned",
            "in_progress",
            "blocked",
            "completed",
            "failed",
            "invalidated"
          ],
          "type": "string"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "Everything recorded about a frame, with what its children returned.",
    "name": "stack_frame_details",
    "schema": {
      "properties": {
        "frameID": {
          "type": "string"
        }
      },
      "required": [
        "frameID"
      ],
      "type": "object"
    }
  },
  {
    "description": "What is recorded of a frame's outcome so far (by default of the active frame).",
    "name": "stack_get_summary",
    "schema": {
      "properties": {
        "sessionID": {
          "description": "Frame id, if not the active one",
          "type": "string"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "The state as JSON, for user interfaces: the path to the active frame first. `omitted` says how to get the rest.",
    "name": "stack_get_state",
    "schema": {
      "properties": {
        "from": {
          "description": "Frames to skip",
          "type": "number"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "Get back what is no longer in the prompt: passages that hold all words of the query, a frame by its id, or entry n of its log by id#n.",
    "name": "stack_recall",
    "schema": {
      "properties": {
        "query": {
          "description": "Words, a frame id, or id#n",
          "type": "string"
        },
        "tokens": {
          "description": "Maximum number of tokens",
          "type": "number"
        }
      },
      "required": [
        "query"
      ],
      "type": "object"
    }
  },
  {
    "description": "Search titles, criteria, results, notes and logs of all frames. A text matches if it contains all words.",
    "name": "stack_search",
    "schema": {
      "properties": {
        "limit": {
          "description": "Maximum number of hits",
          "type": "number"
        },
        "query": {
          "description": "Words to look for",
          "type": "string"
        }
      },
      "required": [
        "query"
      ],
      "type": "object"
    }
  },
  {
    "description": "Have a summary of the active frame made, as a checkpoint. The frame stays open.",
    "name": "stack_frame_summarize",
    "schema": {
      "properties": {
        "note": {
          "description": "What the summary should emphasise",
          "type": "string"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "This session's compactions: sizes before and after, what survived, what was lost, what waits for a summary.",
    "name": "stack_compaction_info",
    "schema": {
      "properties": {},
      "type": "object"
    }
  },
  {
    "description": "What this session's context is made of: tokens by section, what was left out and why.",
    "name": "stack_context_info",
    "schema": {
      "properties": {},
      "type": "object"
    }
  },
  {
    "description": "The beginning of this session's context, as the model gets it.",
    "name": "stack_context_preview",
    "schema": {
      "properties": {
        "maxLength": {
          "description": "Characters (default 2000)",
          "type": "number"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "Drop cached contexts, of one session or all. They are rebuilt on demand.",
    "name": "stack_cache_clear",
    "schema": {
      "properties": {
        "sessionID": {
          "description": "Only this session's",
          "type": "string"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "The subagents of this session's tree: status, goal, messages, cost, frame.",
    "name": "stack_subagent_list",
    "schema": {
      "properties": {
        "filter": {
          "enum": [
            "all",
            "active",
            "completed",
            "with-frame",
            "without-frame"
          ],
          "type": "string"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "Report the end of a subagent (by default the one that this session is).",
    "name": "stack_subagent_complete",
    "schema": {
      "properties": {
        "sessionID": {
          "description": "The subagent's session",
          "type": "string"
        },
        "status": {
          "enum": [
            "completed",
            "failed",
            "blocked"
          ],
          "type": "string"
        },
        "summary": {
          "description": "Result of its work",
          "type": "string"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "How many subagents there were, how they ended, what they cost.",
    "name": "stack_stats",
    "schema": {
      "properties": {
        "reset": {
          "description": "Restart the statistics",
          "type": "boolean"
        },
        "showActive": {
          "description": "Those that have not ended too",
          "type": "boolean"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "Show how subagents are tracked, or change it for this project.",
    "name": "stack_config",
    "schema": {
      "properties": {
        "addPattern": {
          "description": "A regular expression",
          "type": "string"
        },
        "autoCompleteOnIdle": {
          "type": "boolean"
        },
        "enabled": {
          "type": "boolean"
        },
        "idleCompletionDelay": {
          "description": "Milliseconds",
          "type": "number"
        },
        "injectParentContext": {
          "type": "boolean"
        },
        "minDuration": {
          "description": "Milliseconds",
          "type": "number"
        },
        "minMessageCount": {
          "type": "number"
        },
        "propagateSummaries": {
          "type": "boolean"
        },
        "removePattern": {
          "type": "string"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "States of the project's sessions: level, since when, why, interruptions, links.",
    "name": "stack_session_status",
    "schema": {
      "properties": {
        "sessionID": {
          "description": "One session in full; by default all are listed",
          "type": "string"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "Make a linked session with a purpose, for the user to continue in.",
    "name": "stack_session_create",
    "schema": {
      "properties": {
        "agent": {
          "description": "The agent that is to work in it",
          "type": "string"
        },
        "frameID": {
          "description": "The frame that it is to work on",
          "type": "string"
        },
        "parentSessionId": {
          "description": "Its parent; without one it is a session of the user",
          "type": "string"
        },
        "phase": {
          "description": "Phase of the work",
          "type": "string"
        },
        "purpose": {
          "description": "Its task",
          "type": "string"
        },
        "sessionID": {
          "description": "The host's session, if the host has made it already",
          "type": "string"
        }
      },
      "required": [
        "purpose"
      ],
      "type": "object"
    }
  },
  {
    "description": "Link a session to its parent, to the one it is a fork of, or to the one that continues its work.",
    "name": "stack_session_link",
    "schema": {
      "properties": {
        "kind": {
          "enum": [
            "parent",
            "fork",
            "hand_off"
          ],
          "type": "string"
        },
        "remove": {
          "description": "Remove the link",
          "type": "boolean"
        },
        "sessionID": {
          "description": "By default this session",
          "type": "string"
        },
        "to": {
          "description": "The other session",
          "type": "string"
        }
      },
      "required": [
        "to",
        "kind"
      ],
      "type": "object"
    }
  },
  {
    "description": "Hand the work of a session to another one: a brief without secrets, and the link.",
    "name": "stack_session_migrate",
    "schema": {
      "properties": {
        "sessionID": {
          "description": "The session whose work is handed off; this one by default",
          "type": "string"
        },
        "targetSessionID": {
          "description": "The session that continues it; without one the text alone is returned",
          "type": "string"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "Show what Flamestack does unasked in this project, or change it.",
    "name": "stack_autonomy",
    "schema": {
      "properties": {
        "disableHeuristic": {
          "type": "string"
        },
        "enableHeuristic": {
          "type": "string"
        },
        "level": {
          "enum": [
            "manual",
            "suggest",
            "auto"
          ],
          "type": "string"
        },
        "popThreshold": {
          "description": "Percent",
          "type": "number"
        },
        "pushThreshold": {
          "description": "Percent",
          "type": "number"
        },
        "reset": {
          "description": "Restore the defaults",
          "type": "boolean"
        },
        "suggestInContext": {
          "type": "boolean"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "Whether the recorded signals suggest opening a frame, with the evidence.",
    "name": "stack_should_push",
    "schema": {
      "properties": {
        "errorCount": {
          "type": "number"
        },
        "potentialGoal": {
          "description": "Goal of the frame that might be opened",
          "type": "string"
        },
        "recentFileChanges": {
          "items": {
            "type": "string"
          },
          "type": "array"
        },
        "recentMessages": {
          "type": "number"
        },
        "tokenCount": {
          "type": "number"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "Whether the recorded signals suggest closing the frame, with status and evidence.",
    "name": "stack_should_pop",
    "schema": {
      "properties": {
        "contextLimit": {
          "description": "Maximum size of a prompt, in tokens",
          "type": "number"
        },
        "failureSignals": {
          "items": {
            "type": "string"
          },
          "type": "array"
        },
        "noProgressTurns": {
          "type": "number"
        },
        "successSignals": {
          "items": {
            "type": "string"
          },
          "type": "array"
        },
        "tokenCount": {
          "type": "number"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "The pending suggestion of this session, and earlier ones.",
    "name": "stack_auto_suggest",
    "schema": {
      "properties": {
        "clearPending": {
          "description": "Dismiss the pending suggestion",
          "type": "boolean"
        },
        "enable": {
          "description": "Suggest at boundaries, or stop that",
          "type": "boolean"
        },
        "showHistory": {
          "type": "boolean"
        }
      },
      "type": "object"
    }
  },
  {
    "description": "How many suggestions there were in this project, and what became of them.",
    "name": "stack_autonomy_stats",
    "schema": {
      "properties": {
        "reset": {
          "description": "Restart the statistics",
          "type": "boolean"
        }
      },
      "type": "object"
    }
  }
]

/** The names of those in the profile `core`. */
export const CORE: string[] = [
  "stack_frame_push",
  "stack_frame_pop",
  "stack_frame_plan_children",
  "stack_frame_activate",
  "stack_frame_invalidate",
  "stack_add_decision",
  "stack_status",
  "stack_recall"
]

/** The beginnings of the texts that Flamestack adds to a session. */
export const OWN_TEXTS: string[] = ["<stack-update","<stack-context","<frame-results"]

/** The commands that a person may type. */
export const COMMANDS: CommandDeclaration[] = [
  {
    "name": "push",
    "description": "Open a frame for a piece of work",
    "template": "Open a frame with stack_frame_push for this piece of work, then begin: $ARGUMENTS"
  },
  {
    "name": "pop",
    "description": "Close the active frame with its results",
    "template": "Close the active frame with stack_frame_pop: its status, and results that stand on their own. $ARGUMENTS"
  },
  {
    "name": "session-new",
    "description": "Make a linked session: PURPOSE [--agent NAME] [--phase NAME]",
    "template": "The session for this was made and is linked to this one. Confirm it in one line, and do nothing else here: $ARGUMENTS"
  },
  {
    "name": "plan",
    "description": "Plan the steps of the active frame",
    "template": "Plan the steps towards this with stack_frame_plan_children, without beginning any of them: $ARGUMENTS"
  }
]
