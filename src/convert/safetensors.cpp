#include "convert/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/input_file.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "convert/json_file.h"
#include "gguf/gguf.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::convert {
namespace {

constexpr std::uint64_t length_bytes = 8;                    // the header's length, little-endian, before the header
constexpr std::uint64_t largest_header = 100'000'000;        // the limit of the format's own reader
constexpr std::string_view metadata_entry = "__metadata__";  // the one entry that is no tensor: strings about the file
constexpr std::string_view lfs_pointer = "version https://git-lfs";

/// Bytes of one number; 0 for types that are newer than this list, whose sizes then go unchecked (they cannot be read anyway).
std::uint64_t bytes_of_number(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 15> sizes{{{"F32", 4},
                                                                              {"F16", 2},
                                                                              {"BF16", 2},
                                                                              {"F64", 8},
                                                                              {"I64", 8},
                                                                              {"U64", 8},
                                                                              {"I32", 4},
                                                                              {"U32", 4},
                                                                              {"I16", 2},
                                                                              {"U16", 2},
                                                                              {"I8", 1},
                                                                              {"U8", 1},
                                                                              {"BOOL", 1},
                                                                              {"F8_E4M3", 1},
                                                                              {"F8_E5M2", 1}}};
  const auto found = std::ranges::find(sizes, dtype, &std::pair<std::string_view, std::uint64_t>::first);
  return found == sizes.end() ? 0 : found->second;
}

/// The data after a file's header.
struct Data {
  std::shared_ptr<const InputFile> file;
  std::uint64_t start = 0, bytes = 0;
};

/// One entry of a file's header.
struct Entry {
  SourceTensor tensor;
  std::uint64_t begin = 0, end = 0;  // in the data after the header
};

/// A list of numbers that fit 63 bits, so that sums of two cannot overflow.
std::vector<std::uint64_t> numbers_of(const SortedJson& entry, const char* key, const std::string& where) {
  const auto found = entry.find(key);
  constexpr std::size_t most = 8;
  if (found == entry.end() || !found->is_array() || found->size() > most) {
    fail(Code::bad_file, "{} has no list '{}' of at most {} numbers; the file is damaged", where, key, most);
  }
  std::vector<std::uint64_t> items;
  for (const SortedJson& item : *found) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
      fail(Code::bad_file, "{} has {} in '{}', where a size was expected; the file is damaged", where, shown(item), key);
    }
    items.push_back(item.get<std::uint64_t>());
  }
  return items;
}

void check_bytes(const Entry& entry, const std::string& where) {
  const std::uint64_t number = bytes_of_number(entry.tensor.dtype), bytes = entry.end - entry.begin;
  if (number == 0) return;
  std::uint64_t wanted = number;
  for (const std::uint64_t size : entry.tensor.shape) {
    if (size != 0 && wanted > static_cast<std::uint64_t>(INT64_MAX) / size) {
      fail(Code::bad_file, "{} has the impossible shape {}; the file is damaged", where, shape_text(entry.tensor.shape));
    }
    wanted *= size;
  }
  if (wanted != bytes) {
    fail(Code::bad_file, "{} takes {} bytes by its shape {} and type {}, but its offsets span {}; the file is damaged", where, wanted,
         shape_text(entry.tensor.shape), entry.tensor.dtype, bytes);
  }
}

Entry parse_entry(const std::string& name, const SortedJson& value, const Data& data, const std::string& path) {
  const std::string where = fmt::format("{}: tensor '{}'", path, gguf::escaped(name));
  if (!value.is_object()) fail(Code::bad_file, "{} is described by a JSON {}, not by an object", where, value.type_name());
  const auto dtype = value.find("dtype");
  if (dtype == value.end() || !dtype->is_string()) fail(Code::bad_file, "{} has no 'dtype'; the file is damaged", where);
  Entry entry;
  entry.tensor.name = name;
  entry.tensor.dtype = dtype->get<std::string>();
  entry.tensor.shape = numbers_of(value, "shape", where);
  const std::vector<std::uint64_t> offsets = numbers_of(value, "data_offsets", where);
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    fail(Code::bad_file, "{} has no two rising 'data_offsets'; the file is damaged", where);
  }
  if (offsets[1] > data.bytes) {
    fail(Code::bad_file, "{} ends at byte {} of the data, of which there are only {}; the file is cut short, download it again", where,
         offsets[1], data.bytes);
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  check_bytes(entry, where);
  entry.tensor.data = Bytes(data.file, data.start + entry.begin, entry.end - entry.begin);
  return entry;
}

/// The format allows neither gaps nor overlaps, so that a file holds what its header says and nothing else.
void check_layout(const std::vector<Entry>& entries, std::uint64_t data_bytes, const std::string& path) {
  std::vector<const Entry*> sorted;
  sorted.reserve(entries.size());
  for (const Entry& entry : entries) sorted.push_back(&entry);
  std::ranges::sort(sorted, {}, [](const Entry* entry) { return std::pair(entry->begin, entry->end); });
  std::uint64_t expected = 0;
  for (const Entry* entry : sorted) {
    if (entry->begin != expected) {
      fail(Code::bad_file, "{}: tensor '{}' starts at byte {} of the data, but the one before it ends at byte {}; the file is damaged",
           path, gguf::escaped(entry->tensor.name), entry->begin, expected);
    }
    expected = entry->end;
  }
  if (expected != data_bytes) {
    fail(Code::bad_file, "{}: {} bytes at its end belong to no tensor; the file is damaged", path, data_bytes - expected);
  }
}

/// The header's JSON; `data` gets the part after it.
SortedJson parse_header(const std::string& path, Data& data) {
  const InputFile& file = *data.file;
  std::string text(std::min<std::uint64_t>(file.size(), lfs_pointer.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  if (text.starts_with(lfs_pointer)) {
    fail(Code::bad_file, "{}: is a pointer of Git LFS and not the weights themselves; fetch them with 'git lfs pull'", path);
  }
  std::uint64_t length = 0;
  if (file.size() >= length_bytes) std::memcpy(&length, text.data(), length_bytes);
  if (file.size() < length_bytes || length > file.size() - length_bytes || length > largest_header) {
    fail(Code::bad_file, "{}: has {} bytes and a header of {} by its first number; it is no safetensors file, or cut short", path,
         file.size(), length);
  }
  data.start = length_bytes + length;
  data.bytes = file.size() - data.start;
  text.resize(static_cast<std::size_t>(length));
  file.read(length_bytes, std::as_writable_bytes(std::span(text)));
  return parse_json_object(text, path + ": the header");
}

}  // namespace

void Safetensors::add_file(const std::string& path) {
  Data data;
  data.file = std::make_shared<const InputFile>(path);
  if (data.file->size() == 0) fail(Code::bad_file, "{}: is empty; download the checkpoint again", path);
  files_.push_back(path);
  const SortedJson header = parse_header(path, data);
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name != metadata_entry) entries.push_back(parse_entry(name, value, data, path));
  }
  check_layout(entries, data.bytes, path);
  for (Entry& entry : entries) {
    if (!by_name_.emplace(entry.tensor.name, tensors_.size()).second) {
      fail(Code::bad_file, "{}: tensor '{}' is also in another file of the checkpoint", path, gguf::escaped(entry.tensor.name));
    }
    tensors_.push_back(std::move(entry.tensor));
  }
}

void Safetensors::add_indexed(const std::string& folder, const std::string& index) {
  const SortedJson document = read_json_object(index);
  const auto weights = document.find("weight_map");
  if (weights == document.end() || !weights->is_object() || weights->empty()) {
    fail(Code::bad_file, "{}: has no 'weight_map' that says which tensor is in which file", index);
  }
  std::map<std::string, std::set<std::string>> by_file;
  for (const auto& [tensor, file] : weights->items()) {
    // A plain name: an untrusted index must not lead outside the checkpoint's folder.
    if (!file.is_string() || file.get<std::string>().empty() ||
        file.get<std::string>().find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      fail(Code::bad_file, "{}: tensor '{}' is said to be in {}, which is no name of a file in the folder", index, gguf::escaped(tensor),
           shown(file));
    }
    by_file[file.get<std::string>()].insert(tensor);
  }
  for (const auto& [file, tensors] : by_file) {
    const std::string path = platform::text_of(platform::path_of(folder) / platform::path_of(file));
    if (!platform::is_there(path)) {
      fail(Code::not_found, "{}: is missing, though the checkpoint's index names it; download the whole checkpoint", gguf::escaped(path));
    }
    const std::size_t before = tensors_.size();
    add_file(path);
    for (const std::string& tensor : tensors) {
      const auto found = by_name_.find(tensor);
      if (found == by_name_.end() || found->second < before) {
        fail(Code::bad_file, "{}: does not hold tensor '{}', though the checkpoint's index says so", path, gguf::escaped(tensor));
      }
    }
  }
}

Safetensors Safetensors::open(const std::string& folder) {
  const auto in_folder = [&](const char* name) { return platform::text_of(platform::path_of(folder) / name); };
  const std::string single = in_folder("model.safetensors"), index = single + ".index.json";
  Safetensors opened;
  if (platform::is_there(single)) {
    opened.add_file(single);
  } else if (platform::is_there(index)) {
    opened.add_indexed(folder, index);
  } else if (platform::is_there(in_folder("pytorch_model.bin")) || platform::is_there(in_folder("pytorch_model.bin.index.json"))) {
    fail(Code::unsupported, "{}: the weights are in PyTorch's pickle format (pytorch_model.bin); save the checkpoint as safetensors first",
         folder);
  } else {
    fail(Code::not_found, "{}: has neither model.safetensors nor model.safetensors.index.json; download the whole checkpoint", folder);
  }
  return opened;
}

const SourceTensor* Safetensors::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

gguf::Type weight_type(const SourceTensor& tensor) {
  if (tensor.dtype == "F32") return gguf::Type::f32;
  if (tensor.dtype == "F16") return gguf::Type::f16;
  if (tensor.dtype == "BF16") return gguf::Type::bf16;
  fail(Code::unsupported, "tensor '{}' holds numbers of type {}; F32, F16 and BF16 can be converted", gguf::escaped(tensor.name),
       gguf::escaped(tensor.dtype));
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  return shape.empty() ? "of a single number" : fmt::format("{}", fmt::join(shape, " x "));
}

}  // namespace skipstone::convert
