#include "pull/model_name.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>

#include "base/escape.h"
#include "base/number.h"
#include "terminal/exit_code.h"

namespace cli::pull {
namespace {

constexpr std::string_view usual_quant = "Q4_K_M", ending = ".gguf";

bool is_name_part(std::string_view part) {
  constexpr std::size_t longest = 96;
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";
  return !part.empty() && part.size() <= longest && part.find_first_not_of(letters) == std::string_view::npos && part.front() != '.' &&
         part.front() != '-' && part.find("--") == std::string_view::npos && part.find("..") == std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return all;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// A model's file, or the parts of one.
struct Candidate {
  std::string stem;  ///< the path in lower case, without the number of a part and the ending
  std::uint32_t count = 1;
  std::map<std::uint32_t, std::string> parts;  ///< paths

  bool is_whole() const { return parts.size() == count; }
};

/// The numbers of "NAME-00001-of-00003".
struct PartNumber {
  std::uint32_t part, count;
};
std::optional<PartNumber> part_number(std::string_view stem) {
  constexpr std::size_t digits = 5, size = 2 * digits + 5;  // -00001-of-00003
  if (stem.size() <= size) return std::nullopt;
  const std::string_view tail = stem.substr(stem.size() - size);
  const auto part = skipstone::parse_number<std::uint32_t>(tail.substr(1, digits));
  const auto count = skipstone::parse_number<std::uint32_t>(tail.substr(size - digits));
  if (tail.front() != '-' || tail.substr(1 + digits, 4) != "-of-" || !part || !count || *part < 1 || *part > *count) return std::nullopt;
  return PartNumber{*part, *count};
}

/// The language models among the files; projectors of other inputs and calibration data are GGUF files too.
std::vector<Candidate> candidates_in(const std::vector<std::string>& files) {
  std::map<std::string, Candidate> all;
  for (const std::string& path : files) {
    const std::string small = lower(path);
    const std::string_view name = file_name(small);
    if (!name.ends_with(ending) || name.find("mmproj") != name.npos || name.find("imatrix") != name.npos) continue;
    std::string stem = small.substr(0, small.size() - ending.size());
    const auto number = part_number(stem);
    if (number) stem.resize(stem.size() - std::string_view("-00001-of-00003").size());
    Candidate& one = all[number ? stem + '/' + std::to_string(number->count) : stem];
    one.stem = stem;
    one.count = number ? number->count : 1;
    one.parts.emplace(number ? number->part : 1, path);
  }
  std::vector<Candidate> list;
  list.reserve(all.size());
  for (auto& [key, one] : all) list.push_back(std::move(one));
  return list;
}

/// Whether `stem` names the type, as a word of its own: Q4_K_M is neither IQ4_K_M nor Q4_K_M_L, and Q4_K is not Q4_K_M.
bool names_quant(std::string_view stem, std::string_view quant) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = stem.find(quant); at != stem.npos; at = stem.find(quant, at + 1)) {
    const std::size_t end = at + quant.size();
    const bool begins = at == 0 || !letter(stem[at - 1]);
    const bool ends = end == stem.size() || !(letter(stem[end]) || stem[end] == '_');
    if (begins && ends) return true;
  }
  return false;
}

bool is_meant(const Candidate& one, const std::string& quant) {
  if (!quant.ends_with(ending)) return names_quant(one.stem, quant);
  return std::ranges::any_of(one.parts, [&](const auto& part) {
    const std::string path = lower(part.second);
    return path == quant || file_name(path) == quant;
  });
}

std::string names_of(const std::vector<Candidate>& candidates) {
  std::string names;
  for (const Candidate& one : candidates) names.append(names.empty() ? "" : ", ").append(file_name(one.parts.begin()->second));
  return skipstone::shortened(names, 1000);
}

}  // namespace

ModelName ModelName::parse(std::string_view text) {
  std::string_view rest = text.substr(text.starts_with(scheme) ? scheme.size() : 0);
  const std::size_t colon = rest.find(':');
  const std::string_view repository = rest.substr(0, colon), quant = colon == rest.npos ? "" : rest.substr(colon + 1);
  const std::size_t slash = std::min(repository.find('/'), repository.size());
  const std::string_view owner = repository.substr(0, slash), name = repository.substr(std::min(slash + 1, repository.size()));
  if (!is_name_part(owner) || !is_name_part(name) || (colon != rest.npos && !is_safe_path(quant))) {
    fail(ExitCode::usage, "'{}' is no name of a model on a hub; OWNER/NAME or OWNER/NAME:QUANT is, as bartowski/Qwen2.5-7B-GGUF:Q4_K_M",
         skipstone::shortened(text));
  }
  return {std::string(owner), std::string(name), std::string(quant)};
}

ModelName ModelName::or_usual() const { return {owner, name, quant.empty() ? std::string(usual_quant) : quant}; }

bool is_safe_path(std::string_view path) {
  constexpr std::size_t longest = 1000;
  if (path.empty() || path.size() > longest || path.find('\\') != path.npos || skipstone::escaped(path) != path) return false;
  while (true) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

std::vector<std::string> choose_files(const std::vector<std::string>& files, const ModelName& model) {
  const std::vector<Candidate> all = candidates_in(files);
  if (all.empty()) fail(ExitCode::bad_model, "{} has no GGUF file of a language model", model.repository());
  const std::string quant = lower(model.or_usual().quant);
  std::vector<Candidate> meant;
  std::ranges::copy_if(all, std::back_inserter(meant), [&](const Candidate& one) { return is_meant(one, quant); });
  if (meant.empty() && model.quant.empty()) {
    const auto first = std::ranges::find_if(all, &Candidate::is_whole);  // by path, as hubs list them
    meant.push_back(first == all.end() ? all.front() : *first);
  }
  if (meant.empty()) fail(ExitCode::bad_model, "{} has no file '{}'; it has {}", model.repository(), model.quant, names_of(all));
  // The plainest name of several: "m-Q4_K_M" rather than "m-UD-Q4_K_M".
  const Candidate& chosen = *std::ranges::min_element(meant, {}, [](const Candidate& one) { return one.stem.size(); });
  if (!chosen.is_whole()) {
    fail(ExitCode::bad_model, "{} has {} of the {} parts of {}", model.repository(), chosen.parts.size(), chosen.count,
         skipstone::shortened(chosen.parts.begin()->second, 200));
  }
  std::vector<std::string> paths;
  for (const auto& [part, path] : chosen.parts) paths.push_back(path);
  return paths;
}

}  // namespace cli::pull
