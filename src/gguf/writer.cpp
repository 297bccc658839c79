#include "gguf/writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/output_file.h"
#include "base/status.h"
#include "gguf/sparse.h"

namespace skipstone::gguf {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF stores little-endian numbers, which this code writes as they are");

constexpr std::uint64_t chunk_bytes = 8u << 20;  // requested by write() from a source at once, unless a row is larger

/// The number in the file of the value type at `index` of Value or Array::items: both leave out "array", number 9.
std::uint32_t kind_at(std::size_t index) { return static_cast<std::uint32_t>(index < 9 ? index : index + 1); }
constexpr std::uint32_t array_kind = 9;

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

/// The header as bytes.
class Buffer {
 public:
  template <typename T>
  void scalar(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view text) {
    scalar(std::uint64_t{text.size()});
    bytes_.append(text);
  }
  template <typename T>
  void item(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      text(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      scalar(static_cast<std::uint8_t>(value ? 1 : 0));
    } else {
      scalar(value);
    }
  }
  void value(const Value& value);
  void pad(std::uint64_t alignment) { bytes_.resize(static_cast<std::size_t>(align_up(bytes_.size(), alignment))); }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string bytes_;
};

void Buffer::value(const Value& value) {
  if (const auto* array = std::get_if<std::shared_ptr<const Array>>(&value)) {
    scalar(array_kind);
    scalar(kind_at((*array)->items.index()));
    scalar(std::uint64_t{(*array)->size()});
    std::visit(
        [&]<typename T>(const std::vector<T>& items) {
          for (const T& each : items) item<T>(each);
        },
        (*array)->items);
    return;
  }
  scalar(kind_at(value.index()));
  std::visit(
      [&]<typename T>(const T& each) {
        if constexpr (!std::is_same_v<T, std::shared_ptr<const Array>>) item<T>(each);
      },
      value);
}

}  // namespace

struct Writer::Impl {
  struct Entry {
    std::string name;
    Type type;
    std::vector<std::uint64_t> shape;
    std::uint64_t bytes;
    RowSource source;
    std::uint64_t rows() const { return std::accumulate(shape.begin() + 1, shape.end(), std::uint64_t{1}, std::multiplies<>()); }
  };
  std::vector<Pair> metadata;
  std::vector<Entry> tensors;

  std::uint64_t alignment() const;
  std::uint64_t check_tensor(const std::string& name, Type type, std::span<const std::uint64_t> shape) const;
  std::vector<Pair> all_metadata() const;
  Buffer header(std::uint64_t alignment) const;
};

std::uint64_t Writer::Impl::alignment() const {
  const auto found = std::ranges::find(metadata, "general.alignment", &Pair::key);
  if (found == metadata.end()) return default_alignment;
  const auto* value = std::get_if<std::uint32_t>(&found->value);
  if (value == nullptr || !std::has_single_bit(*value) || *value < 8 || *value > largest_alignment) {
    fail(Code::invalid_argument, "general.alignment has to be a uint32 and a power of two from 8 to {}, not {} {}", largest_alignment,
         type_name(found->value), to_display(found->value));
  }
  return *value;
}

/// The bytes that shape and type ask for; throws where a reader would refuse the tensor.
std::uint64_t Writer::Impl::check_tensor(const std::string& name, Type type, std::span<const std::uint64_t> shape) const {
  if (name.empty()) fail(Code::invalid_argument, "a tensor needs a name");
  if (std::ranges::find(tensors, name, &Entry::name) != tensors.end()) {
    fail(Code::invalid_argument, "there is already a tensor '{}'", escaped(name));
  }
  if (shape.empty() || shape.size() > 4) fail(Code::invalid_argument, "tensor '{}' needs 1 to 4 dimensions, not {}", name, shape.size());
  if (is_sparse(type) && shape.size() != 2) fail(Code::invalid_argument, "tensor '{}': only matrices can be sparse", name);
  if (traits(type).removed) fail(Code::invalid_argument, "tensor '{}': GGUF has removed the type {}", name, traits(type).name);
  std::uint64_t bytes = shape[0] == 0 ? 0 : row_bytes(type, shape[0]);
  for (const std::uint64_t size : shape.subspan(1)) {
    if (size != 0 && bytes > static_cast<std::uint64_t>(INT64_MAX) / size) fail(Code::invalid_argument, "tensor '{}' is too large", name);
    bytes *= size;
  }
  if (bytes == 0) fail(Code::invalid_argument, "tensor '{}' has a dimension of 0", name);
  return bytes;
}

/// The metadata that were set, and those that name the sparse tensors.
std::vector<Pair> Writer::Impl::all_metadata() const {
  std::vector<std::pair<std::string, Type>> sparse;
  for (const Entry& tensor : tensors) {
    if (is_sparse(tensor.type)) sparse.emplace_back(tensor.name, tensor.type);
  }
  std::vector<Pair> all = metadata, own = sparse_metadata(sparse);
  if (!own.empty()) std::erase_if(all, [](const Pair& pair) { return pair.key.starts_with(sparse_keys); });
  all.insert(all.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  return all;
}

Buffer Writer::Impl::header(std::uint64_t alignment) const {
  const std::vector<Pair> pairs = all_metadata();
  Buffer out;
  for (const char c : {'G', 'G', 'U', 'F'}) out.scalar(c);
  out.scalar(std::uint32_t{3});
  out.scalar(std::uint64_t{tensors.size()});
  out.scalar(std::uint64_t{pairs.size()});
  for (const Pair& pair : pairs) {
    out.text(pair.key);
    out.value(pair.value);
  }
  std::uint64_t offset = 0;
  for (const Entry& tensor : tensors) {
    out.text(tensor.name);
    out.scalar(static_cast<std::uint32_t>(tensor.shape.size()));
    // Rows of a sparse matrix are stored as I8, a weight for each byte.
    const bool sparse = is_sparse(tensor.type);
    out.scalar(sparse ? row_bytes(tensor.type, tensor.shape[0]) : tensor.shape[0]);
    for (const std::uint64_t size : std::span(tensor.shape).subspan(1)) out.scalar(size);
    out.scalar(static_cast<std::uint32_t>(sparse ? Type::i8 : tensor.type));
    out.scalar(offset);
    offset = align_up(offset + tensor.bytes, alignment);
  }
  out.pad(alignment);
  return out;
}

Writer::Writer() : impl_(std::make_unique<Impl>()) {}
Writer::~Writer() = default;

void Writer::set(std::string key, Value value) {
  if (key.empty() || key.size() > 65535) fail(Code::invalid_argument, "a metadata key needs 1 to 65535 bytes, not {}", key.size());
  const auto* array = std::get_if<std::shared_ptr<const Array>>(&value);
  if (array != nullptr && *array == nullptr) fail(Code::invalid_argument, "metadata '{}' is an array that does not exist", escaped(key));
  const auto found = std::ranges::find(impl_->metadata, key, &Pair::key);
  if (found != impl_->metadata.end()) {
    found->value = std::move(value);
  } else {
    impl_->metadata.push_back({std::move(key), std::move(value)});
  }
}

void Writer::set_strings(std::string key, std::vector<std::string> items) {
  set(std::move(key), std::make_shared<const Array>(Array{std::move(items)}));
}

void Writer::set_floats(std::string key, std::vector<float> items) {
  set(std::move(key), std::make_shared<const Array>(Array{std::move(items)}));
}

void Writer::set_integers(std::string key, std::vector<std::int32_t> items) {
  set(std::move(key), std::make_shared<const Array>(Array{std::move(items)}));
}

void Writer::add_tensor(std::string name, Type type, std::span<const std::uint64_t> shape, RowSource source) {
  const std::uint64_t bytes = impl_->check_tensor(name, type, shape);
  impl_->tensors.push_back({std::move(name), type, {shape.begin(), shape.end()}, bytes, std::move(source)});
}

void Writer::add_tensor(std::string name, Type type, std::span<const std::uint64_t> shape, std::span<const std::byte> data) {
  const std::uint64_t bytes = impl_->check_tensor(name, type, shape);
  if (bytes != data.size()) {
    fail(Code::invalid_argument, "tensor '{}' needs {} bytes for its shape and type, not {}", escaped(name), bytes, data.size());
  }
  const std::uint64_t row = row_bytes(type, shape[0]);
  add_tensor(std::move(name), type, shape,
             [row, copy = std::vector<std::byte>(data.begin(), data.end())](std::uint64_t first, std::span<std::byte> out) {
               std::memcpy(out.data(), copy.data() + first * row, out.size());
             });
}

void Writer::add_tensor(std::string name, Type type, std::span<const std::uint64_t> shape, std::span<const float> weights) {
  std::vector<std::byte> data(static_cast<std::size_t>(impl_->check_tensor(name, type, shape)));
  const std::uint64_t elements = std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
  if (elements != weights.size()) {
    fail(Code::invalid_argument, "tensor '{}' has {} weights by its shape, but {} were given", escaped(name), elements, weights.size());
  }
  quantize(type, weights, data);
  add_tensor(std::move(name), type, shape, data);
}

void Writer::write(const std::string& path, const WriteProgress& progress) const {
  const std::uint64_t alignment = impl_->alignment();
  const Buffer header = impl_->header(alignment);
  std::uint64_t total = 0, written = 0;
  for (const Impl::Entry& tensor : impl_->tensors) total += tensor.bytes;
  OutputFile file(path);
  file.write(header.bytes());
  const std::vector<std::byte> zeros(static_cast<std::size_t>(alignment));
  std::vector<std::byte> rows;
  for (const Impl::Entry& tensor : impl_->tensors) {
    const std::uint64_t row = row_bytes(tensor.type, tensor.shape[0]);
    const std::uint64_t at_once = std::max<std::uint64_t>(1, chunk_bytes / row);
    for (std::uint64_t first = 0; first < tensor.rows(); first += at_once) {
      rows.resize(static_cast<std::size_t>(std::min(at_once, tensor.rows() - first) * row));
      tensor.source(first, rows);
      file.write(rows);
      written += rows.size();
      if (progress && !progress(written, total)) fail(Code::cancelled, "writing {} was cancelled; no partial file is left", path);
    }
    file.write(std::span(zeros).first(static_cast<std::size_t>(align_up(tensor.bytes, alignment) - tensor.bytes)));
  }
  file.finish();
}

}  // namespace skipstone::gguf
