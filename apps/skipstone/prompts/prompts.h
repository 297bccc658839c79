// Prompts: files of many, and single ones as text or token ids.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "skipstone/skipstone.hpp"

namespace cli {

struct Prompt {
  std::string text;           ///< UTF-8, not empty
  std::size_t line = 0;       ///< of the file, counted from 1; 0 if the entire file is the prompt
  std::string category = {};  ///< "" if the file has none
};

/// By the file's name: .jsonl has a prompt on each line, .txt is one prompt (a line end at its end is dropped); both may be compressed
/// (.gz). A line is a JSON string, or an object with "prompt" (HumanEval), "question" (GSM8K), "turns" (MT-bench and Spec-Bench; the first
/// one) or "text"; a text in "category" is kept. Reads no further than `limit` prompts; 0: all. Throws Failure naming file and line if
/// something is wrong, and if the file has no prompt.
std::vector<Prompt> read_prompts(const std::string& file, std::size_t limit);

/// `file`: a path, or "-" for standard input; `what` names it in sentences. Throws Failure if it cannot be read or is larger than any
/// context (64 MiB), or if a signal came.
std::string read_text(const std::string& file, const std::string& what);

/// The same for the prompt. One line end at its end is dropped, as editors and `echo` put it there.
std::string read_prompt(const std::string& file);

/// Ids separated by commas or blanks: `given` itself if it begins like such a list, else the contents of the file of that name ("-" is
/// standard input). Throws Failure (usage) if there are none, if one is no integer from 0, and if the file cannot be read.
std::vector<skipstone_token> read_prompt_tokens(const std::string& given);

/// Throws Failure (usage) for an id that the model's vocabulary does not have.
void check_prompt_tokens(const std::vector<skipstone_token>& tokens, const skipstone::Engine& engine);

}  // namespace cli
