#include "bench/drafter_list.h"

#include <algorithm>
#include <string_view>

namespace cli::bench {
namespace {

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
      if (after_comma && goes_on(item)) {
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

}  // namespace

std::vector<std::string> drafter_list(const std::vector<std::string>& lists) {
  std::vector<std::string> specifications;
  for (const std::string& list : lists) append(list, specifications);
  const auto plain = std::find(specifications.begin(), specifications.end(), "none");
  if (plain == specifications.end()) {
    specifications.insert(specifications.begin(), "none");
  } else {
    std::rotate(specifications.begin(), plain, plain + 1);
  }
  return specifications;
}

}  // namespace cli::bench
