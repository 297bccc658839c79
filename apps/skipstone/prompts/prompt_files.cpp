// Files of many prompts.
#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "base/platform/files.h"
#include "base/status.h"
#include "json/json.h"
#include "json/parse_json.h"
#include "prompts/prompts.h"
#include "terminal/exit_code.h"

namespace cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{256} << 20U;

struct Close {
  void operator()(gzFile_s* file) const noexcept { gzclose(file); }
};

/// The contents of a file, decompressed if needed (zlib detects that).
std::string read_all(const std::string& path) {
  std::error_code error;
  const int descriptor = skipstone::platform::to_descriptor(skipstone::platform::open_stream(path, error));
  if (error) fail(ExitCode::usage, "the prompts in '{}' cannot be read: {}", path, error.message());
  const std::unique_ptr<gzFile_s, Close> file(gzdopen(descriptor, "rb"));
  if (!file) throw std::bad_alloc();
  std::string bytes;
  std::array<char, 65536> buffer{};
  while (true) {
    const int got = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    if (got > 0) bytes.append(buffer.data(), static_cast<std::size_t>(got));
    if (bytes.size() > most_bytes) fail(ExitCode::usage, "the prompts in '{}' are more than {} MiB", path, most_bytes >> 20U);
    if (got <= 0) break;
  }
  // A truncated compressed file reads like a complete one, except for zlib's state at its end.
  int state = Z_OK;
  const char* reason = gzerror(file.get(), &state);
  if (state == Z_ERRNO) fail(ExitCode::usage, "the prompts in '{}' cannot be read: {}", path, std::strerror(errno));
  if (state != Z_OK && state != Z_STREAM_END)
    fail(ExitCode::usage, "the prompts in '{}' cannot be expanded, the file is damaged: {}", path, reason);
  return bytes;
}

/// The prompt in a line's value; null if it has none.
const skipstone::SortedJson* find_prompt(const skipstone::SortedJson& value) {
  if (!value.is_object()) return &value;
  for (const char* name : {"prompt", "question", "turns", "text"}) {
    const auto found = value.find(name);
    if (found == value.end()) continue;
    return found->is_array() && !found->empty() ? &found->front() : &*found;
  }
  return nullptr;
}

Prompt parse_line(std::string_view line, const std::string& file, std::size_t number) {
  skipstone::SortedJson value;
  try {
    value = skipstone::parse_json<skipstone::SortedJson>(line, "the line");
  } catch (const skipstone::Error& error) {
    fail(ExitCode::usage, "{}, line {} is not JSON: {}", file, number, error.what());
  }
  const skipstone::SortedJson* prompt = find_prompt(value);
  if (prompt == nullptr)
    fail(ExitCode::usage, "{}, line {} has no prompt; one of the fields prompt, question, turns and text has to hold it", file, number);
  if (!prompt->is_string()) fail(ExitCode::usage, "{}, line {}: the prompt is not a text", file, number);
  if (prompt->get_ref<const std::string&>().empty()) fail(ExitCode::usage, "{}, line {}: the prompt is empty", file, number);
  const auto category = value.is_object() ? value.find("category") : value.end();
  const bool named = value.is_object() && category != value.end() && category->is_string();
  return {prompt->get<std::string>(), number, named ? category->get<std::string>() : std::string()};
}

std::vector<Prompt> parse_lines(std::string_view bytes, const std::string& file, std::size_t limit) {
  std::vector<Prompt> prompts;
  for (std::size_t number = 1; !bytes.empty() && (limit == 0 || prompts.size() < limit); ++number) {
    const auto end = bytes.find('\n');
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) prompts.push_back(parse_line(line, file, number));
  }
  return prompts;
}

std::vector<Prompt> whole_text(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) return {};
  return {{std::move(text), 0}};
}

}  // namespace

std::vector<Prompt> read_prompts(const std::string& file, std::size_t limit) {
  std::string_view name = file;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  if (!name.ends_with(".jsonl") && !name.ends_with(".txt")) {
    fail(ExitCode::usage, "'{}' is no file of prompts; its name has to end in .jsonl or .txt, or with .gz after that", file);
  }
  std::string bytes = read_all(file);
  std::vector<Prompt> prompts = name.ends_with(".txt") ? whole_text(std::move(bytes)) : parse_lines(bytes, file, limit);
  if (prompts.empty()) fail(ExitCode::usage, "there is no prompt in '{}'", file);
  return prompts;
}

}  // namespace cli
