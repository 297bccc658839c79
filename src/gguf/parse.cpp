#include <algorithm>
#include <bit>
#include <concepts>
#include <unordered_set>

#include "gguf/cursor.h"
#include "gguf/parts.h"

namespace skipstone::gguf {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF stores little-endian numbers, which this code reads in place");

// The specification: keys are at most 2^16 - 1 bytes. The same bound for names keeps messages of hostile files short of a flood.
constexpr std::uint64_t longest_key = 65535;
// The least a thing can take in the file; bounds every count before anything is allocated for it.
constexpr std::uint64_t least_pair = 8 + 1 + 4 + 1;            // key length, key, type, value
constexpr std::uint64_t least_tensor = 8 + 1 + 4 + 8 + 4 + 8;  // name length, name, dimensions, one of them, type, offset

// Value types by their numbers in the file.
enum class Kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

void check_name(const Cursor& in, std::string_view name, std::string_view what) {
  if (name.empty()) fail(Code::bad_file, "{}: {} before byte {} is empty; the file is damaged", in.path(), what, in.position());
  if (name.size() > longest_key) {
    fail(Code::bad_file, "{}: {} before byte {} has {} bytes, more than the {} allowed; the file is damaged", in.path(), what,
         in.position(), name.size(), longest_key);
  }
}

bool read_bool(Cursor& in, std::string_view what) {
  const auto byte = in.scalar<std::uint8_t>(what);
  if (byte > 1) {
    fail(Code::bad_file, "{}: {} at byte {} is {}, which is neither true nor false; the file is damaged", in.path(), what,
         in.position() - 1, byte);
  }
  return byte != 0;
}

template <typename T>
T read_item(Cursor& in, std::string_view what) {
  if constexpr (std::same_as<T, std::string>) {
    return std::string(in.string(what));
  } else if constexpr (std::same_as<T, bool>) {
    return read_bool(in, what);
  } else {
    return in.scalar<T>(what);
  }
}

template <typename T>
Value read_array_of(Cursor& in, std::string_view what) {
  const std::uint64_t least = std::same_as<T, std::string> ? sizeof(std::uint64_t) : std::same_as<T, bool> ? 1 : sizeof(T);
  const auto count = static_cast<std::size_t>(in.count(least, what));
  std::vector<T> items;
  items.reserve(count);
  for (std::size_t i = 0; i < count; ++i) items.push_back(read_item<T>(in, what));
  auto array = std::make_shared<Array>();
  array->items = std::move(items);
  return std::shared_ptr<const Array>(std::move(array));
}

/// Calls `visit.operator()<T>()` with the C++ type of a value type other than array.
template <typename Visit>
Value with_type(Kind kind, const Cursor& in, std::string_view what, Visit visit) {
  switch (kind) {
    case Kind::u8:
      return visit.template operator()<std::uint8_t>();
    case Kind::i8:
      return visit.template operator()<std::int8_t>();
    case Kind::u16:
      return visit.template operator()<std::uint16_t>();
    case Kind::i16:
      return visit.template operator()<std::int16_t>();
    case Kind::u32:
      return visit.template operator()<std::uint32_t>();
    case Kind::i32:
      return visit.template operator()<std::int32_t>();
    case Kind::f32:
      return visit.template operator()<float>();
    case Kind::boolean:
      return visit.template operator()<bool>();
    case Kind::string:
      return visit.template operator()<std::string>();
    case Kind::array:
      break;
    case Kind::u64:
      return visit.template operator()<std::uint64_t>();
    case Kind::i64:
      return visit.template operator()<std::int64_t>();
    case Kind::f64:
      return visit.template operator()<double>();
  }
  if (kind == Kind::array) {
    fail(Code::unsupported, "{}: {} before byte {} is an array of arrays, which no known model uses; the file is damaged or too new",
         in.path(), what, in.position());
  }
  fail(Code::bad_file, "{}: {} before byte {} has the value type {}, which does not exist; the file is damaged", in.path(), what,
       in.position(), static_cast<std::uint32_t>(kind));
}

Pair read_pair(Cursor& in) {
  Pair pair;
  pair.key = in.string("a metadata key");
  check_name(in, pair.key, "a metadata key");
  const std::string what = "metadata '" + shortened(pair.key) + "'";
  const auto kind = static_cast<Kind>(in.scalar<std::uint32_t>(what));
  if (kind == Kind::array) {
    const auto element = static_cast<Kind>(in.scalar<std::uint32_t>(what));
    pair.value = with_type(element, in, what, [&]<typename T>() { return read_array_of<T>(in, what); });
  } else {
    pair.value = with_type(kind, in, what, [&]<typename T>() { return Value(read_item<T>(in, what)); });
  }
  return pair;
}

void check_magic(Cursor& in) {
  const std::string start(in.peek(64));
  if (start.starts_with("GGUF")) return;
  for (const std::string_view old : {"lmgg", "fmgg", "tjgg", "algg"}) {
    if (start.starts_with(old)) {
      fail(Code::unsupported, "{}: is in a format from before GGUF; download the model as GGUF, or convert it", in.path());
    }
  }
  if (start.starts_with("version https://git-lfs")) {
    fail(Code::bad_file, "{}: is a Git LFS pointer and not the model itself; fetch it with 'git lfs pull'", in.path());
  }
  fail(Code::bad_file, "{}: is not a GGUF file: it does not begin with 'GGUF'", in.path());
}

std::uint32_t read_version(Cursor& in) {
  const auto version = in.scalar<std::uint32_t>("the version");
  if (version == 2 || version == 3) return version;
  // A big-endian file differs in nothing but the order of bytes, so its small version number shows in the upper half.
  if ((version & 0xffffu) == 0 && version != 0) {
    fail(Code::unsupported, "{}: is a big-endian GGUF file; download the little-endian one, or convert it", in.path());
  }
  if (version == 1) fail(Code::unsupported, "{}: is GGUF version 1, which only few early files are; convert the model again", in.path());
  fail(Code::unsupported, "{}: has GGUF version {}; versions 2 and 3 can be read", in.path(), version);
}

std::uint64_t alignment_of(const Part& part, const std::string& path) {
  const auto found = std::ranges::find(part.metadata, "general.alignment", &Pair::key);
  if (found == part.metadata.end()) return default_alignment;
  const auto* alignment = std::get_if<std::uint32_t>(&found->value);
  if (alignment == nullptr) {
    fail(Code::bad_file, "{}: general.alignment is {}, but has to be uint32; the file is damaged", path, type_name(found->value));
  }
  if (!std::has_single_bit(*alignment) || *alignment < 8 || *alignment > largest_alignment) {
    fail(Code::bad_file, "{}: general.alignment is {}, but has to be a power of two from 8 to {}; the file is damaged", path, *alignment,
         largest_alignment);
  }
  return *alignment;
}

struct TensorEntry {
  Tensor tensor;
  std::uint64_t offset = 0;  ///< from the start of the data
  std::uint64_t bytes = 0;
};

const Traits& read_type(Cursor& in, const std::string& what) {
  const auto number = in.scalar<std::uint32_t>(what);
  const Traits* t = find_traits(number);
  if (t == nullptr) {
    fail(Code::unsupported, "{}: {} has the type number {}, which this version does not know; the file is damaged or newer than it",
         in.path(), what, number);
  }
  if (t->removed) {
    fail(Code::unsupported, "{}: {} has the type {}, which GGUF has since removed; download or convert the model again", in.path(), what,
         t->name);
  }
  return *t;
}

/// The shape, with all products known to be representable: no more weights than the file's bytes could ever hold.
void read_shape(Cursor& in, const std::string& what, Tensor& tensor) {
  tensor.dimensions = in.scalar<std::uint32_t>(what);
  if (tensor.dimensions < 1 || tensor.dimensions > tensor.shape.size()) {
    fail(Code::bad_file, "{}: {} has {} dimensions, but 1 to 4 are possible; the file is damaged", in.path(), what, tensor.dimensions);
  }
  std::uint64_t elements = 1;
  for (std::uint32_t i = 0; i < tensor.dimensions; ++i) {
    const auto size = in.scalar<std::uint64_t>(what);
    if (size == 0) fail(Code::bad_file, "{}: {} has no weights (dimension {} is 0); the file is damaged", in.path(), what, i);
    if (size > static_cast<std::uint64_t>(INT64_MAX) / elements) {
      fail(Code::bad_file, "{}: {} has more weights than can be counted (dimension {} is {}); the file is damaged", in.path(), what, i,
           size);
    }
    elements *= size;
    tensor.shape[i] = size;
  }
}

TensorEntry read_tensor(Cursor& in, std::uint64_t alignment) {
  TensorEntry entry;
  Tensor& tensor = entry.tensor;
  tensor.name = in.string("a tensor's name");
  check_name(in, tensor.name, "a tensor's name");
  const std::string what = "tensor '" + shortened(tensor.name) + "'";
  read_shape(in, what, tensor);
  const Traits& t = read_type(in, what);
  tensor.type = t.type;
  if (tensor.row_length() % t.block != 0) {
    fail(Code::bad_file, "{}: {} has rows of {} weights, which do not divide into the blocks of {} of {}; the file is damaged", in.path(),
         what, tensor.row_length(), t.block, t.name);
  }
  const std::uint64_t blocks = tensor.elements() / t.block;
  if (blocks > static_cast<std::uint64_t>(INT64_MAX) / t.bytes) {
    fail(Code::bad_file, "{}: {} would take more bytes than can be counted; the file is damaged", in.path(), what);
  }
  entry.bytes = blocks * t.bytes;
  entry.offset = in.scalar<std::uint64_t>(what);
  if (entry.offset % alignment != 0) {
    fail(Code::bad_file, "{}: {} lies at offset {}, which is no multiple of the alignment {}; the file is damaged", in.path(), what,
         entry.offset, alignment);
  }
  return entry;
}

/// Gives every tensor its bytes. They have to lie inside the file and may not overlap.
void place_tensors(std::vector<TensorEntry>& entries, Part& part, std::uint64_t alignment, const std::string& path) {
  const std::uint64_t bytes = part.file->size();
  const std::uint64_t padded = (part.header_bytes + alignment - 1) / alignment * alignment;
  const std::uint64_t start = std::min(padded, bytes);
  const std::uint64_t available = bytes - start;
  std::vector<const TensorEntry*> by_offset;
  by_offset.reserve(entries.size());
  for (TensorEntry& entry : entries) {
    if (entry.offset > available || entry.bytes > available - entry.offset) {
      fail(Code::bad_file,
           "{}: tensor '{}' takes {} bytes at offset {} of the data, but the file has only {} there; it is damaged or incomplete, "
           "download it again",
           path, shortened(entry.tensor.name), entry.bytes, entry.offset, available);
    }
    entry.tensor.data = Bytes(part.file, start + entry.offset, entry.bytes);
    by_offset.push_back(&entry);
  }
  std::ranges::sort(by_offset, {}, &TensorEntry::offset);
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const TensorEntry& before = *by_offset[i - 1];
    if (by_offset[i]->offset - before.offset < before.bytes) {
      fail(Code::bad_file, "{}: tensors '{}' and '{}' overlap at offset {} of the data; the file is damaged", path,
           shortened(before.tensor.name), shortened(by_offset[i]->tensor.name), by_offset[i]->offset);
    }
  }
  part.tensors.reserve(entries.size());
  for (TensorEntry& entry : entries) part.tensors.push_back(std::move(entry.tensor));
}

}  // namespace

Part parse_part(std::shared_ptr<const InputFile> file) {
  Part part{std::move(file)};
  const std::string& path = part.file->path();
  if (part.file->size() == 0) fail(Code::bad_file, "{}: is empty; download the model again", path);
  Cursor in(*part.file);
  check_magic(in);
  in.take(4, "the magic number");
  part.version = read_version(in);
  const std::uint64_t tensor_count = in.count(least_tensor, "the number of tensors");
  const std::uint64_t pair_count = in.count(least_pair, "the number of metadata entries");

  std::unordered_set<std::string> seen;
  for (std::uint64_t i = 0; i < pair_count; ++i) {
    Pair pair = read_pair(in);
    if (!seen.insert(pair.key).second) {
      fail(Code::bad_file, "{}: metadata '{}' is there twice; the file is damaged", path, shortened(pair.key));
    }
    part.metadata.push_back(std::move(pair));
  }

  const std::uint64_t alignment = alignment_of(part, path);
  seen.clear();
  std::vector<TensorEntry> entries;
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    TensorEntry entry = read_tensor(in, alignment);
    if (!seen.insert(entry.tensor.name).second) {
      fail(Code::bad_file, "{}: tensor '{}' is there twice; the file is damaged", path, shortened(entry.tensor.name));
    }
    entries.push_back(std::move(entry));
  }
  part.header_bytes = in.position();
  place_tensors(entries, part, alignment, path);
  return part;
}

}  // namespace skipstone::gguf
