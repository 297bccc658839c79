#include "bench/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/number.h"
#include "base/platform/files.h"
#include "terminal/exit_code.h"

namespace cli::bench {
namespace {

constexpr std::uint32_t most = 1u << 20;  // the largest context there is
constexpr std::uint32_t most_rows_of_a_pass = 32;
constexpr std::string_view all = "all";

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream in(list + ',');
  for (std::string item; std::getline(in, item, ',');) items.push_back(item);
  return items;
}

std::uint32_t number(const std::string& option, const std::string& item, const std::string& list, std::uint32_t least) {
  const auto value = skipstone::parse_number<std::uint32_t>(item);
  if (!value || *value < least || *value > most) {
    fail(ExitCode::usage, "{} {} cannot be measured: '{}' is no number from {} to {}", option, list, item, least, most);
  }
  return *value;
}

std::vector<Test> pairs_of(const std::vector<std::string>& lists) {
  std::vector<Test> tests;
  for (const std::string& list : lists) {
    const std::vector<std::string> items = split(list);
    if (items.size() != 2) {
      fail(ExitCode::usage, "--pg {} cannot be measured: it takes two numbers, prompt and generated tokens", list);
    }
    tests.push_back({.prompt = number("--pg", items[0], list, 1), .generate = number("--pg", items[1], list, 1)});
  }
  return tests;
}

/// "k=6", and "7-9" and "mlp:3" of a list of layers, continue the specification before them; "asd" and "asd:c=0.99" begin one.
bool goes_on(std::string_view item) {
  const auto mark = item.find_first_of("=:");
  if (mark != std::string_view::npos && item[mark] == '=') return true;
  const std::string_view name = item.substr(0, mark);
  return name == "attn" || name == "mlp" || name == "layers" || (!name.empty() && name[0] >= '0' && name[0] <= '9');
}

void append(std::string_view list, std::vector<std::string>& specifications) {
  constexpr std::string_view separators = ", \t\r\n";
  bool after_comma = false;
  while (!list.empty()) {
    const auto end = list.find_first_of(separators);
    const std::string_view item = list.substr(0, end);
    if (!item.empty()) {
      // The members of auto are a list of their own, up to the next blank.
      const bool in_auto = after_comma && specifications.back().starts_with("auto:");
      if (after_comma && (in_auto || goes_on(item))) {
        specifications.back().append(",").append(item);
      } else {
        specifications.emplace_back(item);
      }
    }
    if (end == std::string_view::npos) return;
    after_comma = list[end] == ',' && !item.empty();
    list.remove_prefix(end + 1);
  }
}

std::vector<std::string> specifications_of(const std::vector<std::string>& lists) {
  std::vector<std::string> specifications;
  for (const std::string& list : lists) append(list, specifications);
  return specifications;
}

/// Lossless drafters that need no file, each with its defaults.
std::vector<std::string> all_drafters() {
  std::vector<std::string> names;
  for (const skipstone_drafter_info& info : skipstone::drafters()) {
    if (info.lossless != 0 && info.file != SKIPSTONE_MUST_NAME_FILE) names.emplace_back(info.name);
  }
  return names;
}

}  // namespace

std::string Test::name() const {
  std::string text;
  if (prompt > 0) text = fmt::format("pp{}", prompt);
  if (generate > 0) text += fmt::format("{}tg{}", prompt > 0 ? "+" : "", generate);
  if (rows > 0) text = chains > 0 ? fmt::format("block{}x{}", chains, rows) : fmt::format("rows{}", rows);
  return depth > 0 ? fmt::format("{} @ d{}", text, depth) : text;
}

skipstone_work Test::work() const {
  skipstone_work work = skipstone::work();
  work.depth = depth;
  work.prompt = prompt;
  work.generate = generate;
  work.rows = rows;
  work.chains = chains;
  return work;
}

std::vector<std::uint32_t> number_list(const std::string& option, const std::vector<std::string>& lists, std::uint32_t least) {
  std::vector<std::uint32_t> numbers;
  for (const std::string& list : lists) {
    for (const std::string& item : split(list)) numbers.push_back(number(option, item, list, least));
  }
  return numbers;
}

std::vector<Test> make_tests(const TestLists& lists) {
  std::vector<Test> tests;
  for (const std::uint32_t n : number_list("-p", lists.prompt, 0)) tests.push_back({.prompt = n});
  for (const std::uint32_t n : number_list("-n", lists.generate, 0)) tests.push_back({.generate = n});
  for (const Test& pair : pairs_of(lists.pairs)) tests.push_back(pair);
  std::vector<std::uint32_t> rows = number_list("--rows", lists.rows, 1);
  if (!rows.empty()) rows.push_back(1);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (const std::uint32_t n : rows) tests.push_back({.rows = n});
  if (lists.prompt.empty() && lists.generate.empty() && tests.empty()) tests = {{.prompt = 512}, {.generate = 128}};
  std::erase_if(tests, [](const Test& test) { return test.tokens() == 0; });
  if (tests.empty()) fail(ExitCode::usage, "there is nothing to measure: -p and -n are 0, and neither --pg nor --rows is there");

  std::vector<std::uint32_t> depths = number_list("-d", lists.depth, 0);
  if (depths.empty()) depths = {0};
  std::vector<Test> all;
  for (const std::uint32_t depth : depths) {
    for (Test test : tests) {
      test.depth = depth;
      all.push_back(test);
    }
  }
  return all;
}

std::uint32_t needed_context(const std::vector<Test>& tests) {
  std::uint32_t needed = 0;
  for (const Test& test : tests) needed = std::max(needed, test.depth + (test.chains > 0 ? most_rows_of_a_pass : test.tokens()));
  return needed;
}

std::vector<std::string> model_list(const std::vector<std::string>& lists) {
  std::vector<std::string> models;
  for (const std::string& list : lists) {
    const bool whole = list.find(',') == std::string::npos || skipstone::platform::is_there(list);
    for (const std::string& model : whole ? std::vector{list} : split(list)) models.push_back(model);
  }
  return models;
}

std::vector<std::string> synthetic_list(const std::vector<std::string>& lists) {
  std::vector<std::string> models;
  std::string name;
  for (const std::string& list : lists) {
    for (const std::string& item : split(list)) {
      const std::size_t colon = item.find(':');
      if (colon != std::string::npos) name = item.substr(0, colon);
      if (name.empty()) {
        fail(ExitCode::usage, "--synthetic {} names no model; say NAME:TYPE, as llama-2-7b:q4_0", list);
      }
      models.push_back(colon == std::string::npos ? fmt::format("{}:{}", name, item) : item);
    }
  }
  return models;
}

bool names_all(const std::vector<std::string>& lists) {
  const std::vector<std::string> given = specifications_of(lists);
  return std::ranges::find(given, all) != given.end();
}

std::vector<std::string> drafter_list(const std::vector<std::string>& lists) {
  std::vector<std::string> specifications;
  for (const std::string& given : specifications_of(lists)) {
    for (const std::string& one : given == all ? all_drafters() : std::vector{given}) {
      if (given != all || std::ranges::find(specifications, one) == specifications.end()) specifications.push_back(one);
    }
  }
  const auto plain = std::find(specifications.begin(), specifications.end(), "none");
  if (plain == specifications.end()) {
    specifications.insert(specifications.begin(), "none");
  } else {
    std::rotate(specifications.begin(), plain, plain + 1);
  }
  return specifications;
}

}  // namespace cli::bench
