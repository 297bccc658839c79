#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/status.h"
#include "gguf/parts.h"

namespace skipstone::gguf {
namespace {

constexpr std::uint32_t most_parts = 99999;  // five digits in the name

std::optional<std::uint32_t> five_digits(std::string_view text) {
  std::uint32_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number;
}

/// The integer under `key`; nullopt where it is absent. A wrong type throws, naming the file.
std::optional<std::uint64_t> integer_in(const Part& part, std::string_view key, const std::string& path) {
  const auto found = std::ranges::find(part.metadata, key, &Pair::key);
  if (found == part.metadata.end()) return std::nullopt;
  return to_unsigned(found->value, key, path);
}

void check_part(const Part& part, const std::string& path, std::uint64_t index, std::uint64_t count) {
  const auto own_count = integer_in(part, "split.count", path);
  const auto own_index = integer_in(part, "split.no", path);
  if (!own_count || !own_index) {
    fail(Code::bad_file, "{}: should be part {} of {} of a split model, but does not say so (split.no, split.count); the file is damaged",
         path, index + 1, count);
  }
  if (*own_count != count || *own_index != index) {
    fail(Code::bad_file, "{}: should be part {} of {} of a split model, but its metadata says index {} of {}; it belongs to another model",
         path, index + 1, count, *own_index, *own_count);
  }
}

Part open_sister(const std::string& path, const std::string& asked_for) {
  try {
    return parse_part(std::make_shared<const InputFile>(path));
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    fail(Code::not_found, "{}: is missing, and {} is only one part of that split model; put all its parts into one folder", path,
         asked_for);
  }
}

}  // namespace

std::optional<SplitName> parse_split_name(const std::string& path) {
  constexpr std::string_view pattern = "-00000-of-00000.gguf";
  if (path.size() < pattern.size()) return std::nullopt;
  const std::string_view end = std::string_view(path).substr(path.size() - pattern.size());
  if (end[0] != '-' || end.substr(6, 4) != "-of-" || end.substr(15) != ".gguf") return std::nullopt;
  const auto number = five_digits(end.substr(1, 5));
  const auto count = five_digits(end.substr(10, 5));
  if (!number || !count || *number < 1 || *number > *count) return std::nullopt;
  return SplitName{path.substr(0, path.size() - pattern.size()), *number, *count};
}

std::string split_name(const std::string& prefix, std::uint32_t number, std::uint32_t count) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, number, count);
}

std::vector<Part> open_parts(const std::string& path) {
  std::vector<Part> parts;
  Part opened = parse_part(std::make_shared<const InputFile>(path));
  const std::uint64_t count = integer_in(opened, "split.count", path).value_or(1);
  if (count <= 1) {
    parts.push_back(std::move(opened));
    return parts;
  }
  const auto name = parse_split_name(path);
  if (count > most_parts || !name || name->count != count) {
    fail(Code::bad_file,
         "{}: is one of {} parts of a split model, but its name does not end like -00001-of-{:05}.gguf, so the others cannot be found; "
         "give the parts their names back",
         path, count, count);
  }
  check_part(opened, path, name->number - 1, count);

  for (std::uint32_t number = 1; number <= name->count; ++number) {
    if (number == name->number) {
      parts.push_back(std::move(opened));  // NOLINT(bugprone-use-after-move): one iteration comes here
      continue;
    }
    const std::string sister = split_name(name->prefix, number, name->count);
    parts.push_back(open_sister(sister, path));
    check_part(parts.back(), sister, number - 1, count);
  }

  std::uint64_t found = 0;
  for (const Part& part : parts) found += part.tensors.size();
  const std::uint64_t promised = integer_in(parts.front(), "split.tensors.count", path).value_or(found);
  if (promised != found) {
    fail(Code::bad_file, "{}: the split model should have {} tensors, but its {} parts have {}; a part is damaged or of another model",
         path, promised, count, found);
  }
  return parts;
}

Part open_whole(std::shared_ptr<const InputFile> file) {
  Part part = parse_part(std::move(file));
  const std::string& path = part.file->path();
  const std::uint64_t count = integer_in(part, "split.count", path).value_or(1);
  if (count > 1) {
    fail(Code::unsupported, "{}: is one of {} parts of a split model, and the others are found by file names alone; load it by its path",
         path, count);
  }
  return part;
}

}  // namespace skipstone::gguf
