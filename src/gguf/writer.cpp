#include "gguf/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/status.h"

namespace skipstone::gguf {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF stores little-endian numbers, which this code writes as they are");

constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint32_t kLargestAlignment = 1u << 20;  // as in the reader

/// The number in the file of the value type at `index` of Value or Array::items: both leave out "array", number 9.
std::uint32_t kind_at(std::size_t index) { return static_cast<std::uint32_t>(index < 9 ? index : index + 1); }
constexpr std::uint32_t kArrayKind = 9;

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
    scalar(kArrayKind);
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

/// A new file beside the final one, removed again unless it is renamed to it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : path_(path) {
    struct stat info {};
    // Renaming onto a device or a directory would replace the one and fail late on the other.
    if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) fail(Code::io, "{}: cannot write: it is not a regular file", path);
    static std::atomic<unsigned> number{0};
    temporary_ = fmt::format("{}.{}.{}.tmp", path, ::getpid(), number++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) failed("create the file");
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!renamed_) ::unlink(temporary_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) failed("write");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  /// Some file systems report a full disk only here.
  void finish() {
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOSYS) failed("write");
    if (::close(std::exchange(descriptor_, -1)) != 0) failed("write");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) failed("rename the finished file");
    renamed_ = true;
  }

 private:
  [[noreturn]] void failed(const char* what) const {
    const std::string reason = std::generic_category().message(errno);
    fail(Code::io, "{}: cannot {}: {}; nothing was left behind", path_, what, reason);
  }

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

}  // namespace

struct Writer::Impl {
  struct Entry {
    std::string name;
    Type type;
    std::vector<std::uint64_t> shape;
    std::vector<std::byte> data;
  };
  std::vector<Pair> metadata;
  std::vector<Entry> tensors;

  std::uint64_t alignment() const;
  std::uint64_t check_tensor(const std::string& name, Type type, std::span<const std::uint64_t> shape) const;
  Buffer header(std::uint64_t alignment) const;
};

std::uint64_t Writer::Impl::alignment() const {
  const auto found = std::ranges::find(metadata, "general.alignment", &Pair::key);
  if (found == metadata.end()) return kDefaultAlignment;
  const auto* value = std::get_if<std::uint32_t>(&found->value);
  if (value == nullptr || !std::has_single_bit(*value) || *value < 8 || *value > kLargestAlignment) {
    fail(Code::invalid_argument, "general.alignment has to be a uint32 and a power of two from 8 to {}, not {} {}", kLargestAlignment,
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
  if (traits(type).removed) fail(Code::invalid_argument, "tensor '{}': GGUF has removed the type {}", name, traits(type).name);
  std::uint64_t bytes = shape[0] == 0 ? 0 : row_bytes(type, shape[0]);
  for (const std::uint64_t size : shape.subspan(1)) {
    if (size != 0 && bytes > static_cast<std::uint64_t>(INT64_MAX) / size) fail(Code::invalid_argument, "tensor '{}' is too large", name);
    bytes *= size;
  }
  if (bytes == 0) fail(Code::invalid_argument, "tensor '{}' has a dimension of 0", name);
  return bytes;
}

Buffer Writer::Impl::header(std::uint64_t alignment) const {
  Buffer out;
  for (const char c : {'G', 'G', 'U', 'F'}) out.scalar(c);
  out.scalar(std::uint32_t{3});
  out.scalar(std::uint64_t{tensors.size()});
  out.scalar(std::uint64_t{metadata.size()});
  for (const Pair& pair : metadata) {
    out.text(pair.key);
    out.value(pair.value);
  }
  std::uint64_t offset = 0;
  for (const Entry& tensor : tensors) {
    out.text(tensor.name);
    out.scalar(static_cast<std::uint32_t>(tensor.shape.size()));
    for (const std::uint64_t size : tensor.shape) out.scalar(size);
    out.scalar(static_cast<std::uint32_t>(tensor.type));
    out.scalar(offset);
    offset = align_up(offset + tensor.data.size(), alignment);
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

void Writer::add_tensor(std::string name, Type type, std::span<const std::uint64_t> shape, std::span<const std::byte> data) {
  const std::uint64_t bytes = impl_->check_tensor(name, type, shape);
  if (bytes != data.size()) {
    fail(Code::invalid_argument, "tensor '{}' needs {} bytes for its shape and type, not {}", escaped(name), bytes, data.size());
  }
  impl_->tensors.push_back({std::move(name), type, {shape.begin(), shape.end()}, {data.begin(), data.end()}});
}

void Writer::add_tensor(std::string name, Type type, std::span<const std::uint64_t> shape, std::span<const float> weights) {
  const std::uint64_t bytes = impl_->check_tensor(name, type, shape);
  std::uint64_t elements = 1;
  for (const std::uint64_t size : shape) elements *= size;
  if (elements != weights.size()) {
    fail(Code::invalid_argument, "tensor '{}' has {} weights by its shape, but {} were given", escaped(name), elements, weights.size());
  }
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  quantize(type, weights, data);
  impl_->tensors.push_back({std::move(name), type, {shape.begin(), shape.end()}, std::move(data)});
}

void Writer::write(const std::string& path) const {
  const std::uint64_t alignment = impl_->alignment();
  const Buffer header = impl_->header(alignment);
  TemporaryFile file(path);
  file.write(header.bytes());
  const std::vector<std::byte> zeros(static_cast<std::size_t>(alignment));
  for (const Impl::Entry& tensor : impl_->tensors) {
    file.write(tensor.data);
    const std::uint64_t padding = align_up(tensor.data.size(), alignment) - tensor.data.size();
    file.write(std::span(zeros).first(static_cast<std::size_t>(padding)));
  }
  file.finish();
}

}  // namespace skipstone::gguf
