// --prompts FILE: the texts that a sweep continues.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cli::bench {

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

}  // namespace cli::bench
