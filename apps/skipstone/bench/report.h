// The result of a sweep in the formats that bench writes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/records.h"
#include "bench/sweep_data.h"

namespace cli::bench {

/// A table for people: a row for each drafter.
struct Table {
  std::string_view caption;
  std::vector<std::string_view> columns;  ///< names of columns.h
};

/// The default tables of markdown; the acceptance by draft position always follows.
std::span<const Table> default_tables();

/// csv: a header and a line for each drafter of each sweep, the setup repeated on each, and if the prompts are of several tasks a line
/// for each task and drafter, with "task". json: an array with an object for each sweep: its setup, "drafters", "tasks", "runs". jsonl:
/// the same, a line each, with a field "record": "setup", "drafter", "task" or "run". sql: as csv.
std::string report(const std::vector<Sweep>& sweeps, Format format, std::span<const Table> tables = default_tables());

/// For --save-tokens: a line for each prompt that plain decoding has continued: {"prompt", "prompt_tokens", "tokens"}.
std::string plain_tokens(const Sweep& sweep);

}  // namespace cli::bench
