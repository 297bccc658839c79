// What bench measures, from the lists on its command line: tests in the notation of llama-bench, passes over rows, models and drafters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skipstone/skipstone_experimental.hpp"

namespace cli::bench {

/// A prompt, tokens that are generated one by one, or both; or a pass over rows. All run after `depth` cached tokens.
struct Test {
  std::uint32_t prompt = 0, generate = 0, rows = 0, depth = 0;
  std::uint32_t chains = 0;  ///< above 0: a call over a block of this many chains of `rows` rows each, which may take several passes

  /// "pp512", "tg128", "pp512+tg128", "rows4", "block10x11"; " @ d1024" if the depth is not 0.
  std::string name() const;
  /// Tokens that the time is divided by.
  std::uint32_t tokens() const { return prompt + generate + rows * (chains > 0 ? chains : 1); }
  bool decodes() const { return prompt == 0 && rows == 0; }
  skipstone_work work() const;
};

/// "512,1024" and several such lists as numbers from `least` to 2^20. `option` names it in errors. Throws Failure.
std::vector<std::uint32_t> number_list(const std::string& option, const std::vector<std::string>& lists, std::uint32_t least);

/// The lists as given on the command line; all may be empty.
struct TestLists {
  std::vector<std::string> prompt = {}, generate = {}, pairs = {}, rows = {}, depth = {};  ///< a pair is "P,N"
};

/// The cross product with the depths: for each one the prompts, the generations, the pairs, and the rows from few to many with 1 always
/// among them, since the others are compared with it. pp512 and tg128 if nothing is named. Zeros are ignored. Throws Failure.
std::vector<Test> make_tests(const TestLists& lists);

/// The tokens of context that the tests need.
std::uint32_t needed_context(const std::vector<Test>& tests);

/// Model files from lists separated by commas; a comma that belongs to a file's name stays.
std::vector<std::string> model_list(const std::vector<std::string>& lists);

/// "llama-2-7b:q4_0,q8_0" as "llama-2-7b:q4_0", "llama-2-7b:q8_0": an entry without a name is a type of the last model. Throws Failure.
std::vector<std::string> synthetic_list(const std::vector<std::string>& lists);

/// Drafter specifications ("NAME" or "NAME:value,key=value,...") from lists that separate them by commas or blanks; after a comma,
/// "key=value" and numbers of layers belong to the drafter before it. The first of the result is always "none", plain decoding: moved to
/// the front if it is named, else added. "all" becomes every lossless drafter that needs no file, but those that are in the list before it.
/// Does not check whether the drafters exist.
std::vector<std::string> drafter_list(const std::vector<std::string>& lists);

/// Whether "all" is among them: then a model need not have what each of them drafts with.
bool names_all(const std::vector<std::string>& lists);

}  // namespace cli::bench
