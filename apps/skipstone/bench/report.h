// The result of a sweep in the formats that bench writes, and as the lines that the ranks of a job exchange.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/summary.h"
#include "bench/sweep_data.h"
#include "json/json_fwd.h"
#include "results/formats.h"

namespace cli::bench {

/// A table for people: a row for each drafter.
struct Table {
  std::string_view caption;
  std::vector<std::string_view> columns;  ///< names of columns()
};

/// The default tables of markdown; the acceptance by draft position always follows.
std::span<const Table> default_tables();

/// csv: a header and a line for each drafter of each sweep, the setup repeated on each, and if the prompts are of several tasks a line
/// for each task and drafter, with "task". json: an array with an object for each sweep: its setup, "drafters", "tasks", "runs". jsonl:
/// the same, a line each, with a field "record": "setup", "drafter", "task" or "run". sql: as csv.
std::string report(const std::vector<Sweep>& sweeps, Format format, std::span<const Table> tables = default_tables());

/// For --save-tokens: a line for each prompt that plain decoding has continued: {"prompt", "prompt_tokens", "tokens"}.
std::string plain_tokens(const Sweep& sweep);

/// A rank's runs as lines of JSON.
std::string rank_lines(const Sweep& sweep, std::size_t rank);

/// `sweep` is rank 0's, `lines` those of all ranks, in order; `sweep` then has the runs of all. Throws Failure if a rank ran another
/// model.
void merge_ranks(Sweep& sweep, const std::vector<skipstone::SortedJson>& lines);

/// A table: device, prompts and speeds of each rank; "" if there are none.
std::string ranks_text(const Sweep& sweep);
/// An object for each rank.
Json ranks_json(const Sweep& sweep);

/// The report for people.
std::string markdown(const Sweep& sweep, std::span<const Summary> summaries, std::span<const Table> tables);

}  // namespace cli::bench
