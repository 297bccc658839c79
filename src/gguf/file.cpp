#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "base/hash.h"
#include "base/status.h"
#include "gguf/gguf.h"
#include "gguf/parts.h"
#include "gguf/sparse.h"

namespace skipstone::gguf {
namespace {

/// Eight bytes at a time, for files are large.
class Hash {
 public:
  void add(std::uint64_t word) { state_ = split_mix(state_ ^ word); }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t count = std::min(bytes.size(), sizeof word);
      std::copy_n(bytes.begin(), count, reinterpret_cast<std::byte*>(&word));
      add(word);
      bytes = bytes.subspan(count);
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace

struct File::Impl {
  std::string path;
  std::vector<Part> parts;
  std::vector<Tensor> tensors;
  std::size_t own_tensors = 0;  ///< those after them are of a file that was joined
  std::string joined_fingerprint;
  std::uint64_t bytes = 0;
  bool described = false;
  std::shared_ptr<const void> memory;  ///< of a described file's tensors
  // The keys look into `parts` and `tensors`, which do not change once they are indexed.
  std::unordered_map<std::string_view, const Value*> values_by_key;
  std::unordered_map<std::string_view, const Tensor*> tensors_by_name;

  void gather();
  void index();
};

/// Takes the tensors of all parts.
void File::Impl::gather() {
  for (Part& part : parts) {
    if (part.file) bytes += part.file->size();
    tensors.insert(tensors.end(), std::make_move_iterator(part.tensors.begin()), std::make_move_iterator(part.tensors.end()));
    part.tensors.clear();
  }
  own_tensors = tensors.size();
  index();
}

void File::Impl::index() {
  values_by_key.clear();
  tensors_by_name.clear();
  for (const Pair& pair : parts.front().metadata) values_by_key.emplace(pair.key, &pair.value);
  for (const Tensor& tensor : tensors) {
    if (!tensors_by_name.emplace(tensor.name, &tensor).second) {
      fail(Code::bad_file, "{}: tensor '{}' is in two parts of the model; a part is damaged or of another model", path,
           escaped(tensor.name));
    }
  }
}

File::File(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;
File::~File() = default;

File File::open(const std::string& path) { return from_parts(path, open_parts(path)); }

File File::open(std::shared_ptr<const InputFile> file) {
  const std::string name = file->path();
  std::vector<Part> parts;
  parts.push_back(open_whole(std::move(file)));
  return from_parts(name, std::move(parts));
}

File File::from_parts(const std::string& path, std::vector<Part> parts) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->parts = std::move(parts);
  impl->gather();
  File file(std::move(impl));
  adopt_sparse(file, file.impl_->tensors);
  return file;
}

File File::describe(const std::string& name, std::vector<Pair> metadata, std::vector<Tensor> tensors, std::shared_ptr<const void> memory) {
  auto impl = std::make_unique<Impl>();
  impl->path = name;
  impl->described = true;
  impl->memory = std::move(memory);
  Part part;
  part.version = 3;
  part.metadata = std::move(metadata);
  part.tensors = std::move(tensors);
  impl->parts.push_back(std::move(part));
  impl->gather();
  return File(std::move(impl));
}

File File::joined(const File& other, std::vector<Tensor> tensors, std::vector<Pair> metadata) && {
  std::unique_ptr<Impl> impl = std::move(impl_);
  std::vector<Pair>& own = impl->parts.front().metadata;
  for (Pair& pair : metadata) {
    const auto found = std::ranges::find(own, pair.key, &Pair::key);
    if (found == own.end()) {
      own.push_back(std::move(pair));
    } else {
      found->value = std::move(pair.value);
    }
  }
  std::ranges::move(tensors, std::back_inserter(impl->tensors));
  impl->bytes += other.file_bytes();
  impl->joined_fingerprint = other.fingerprint();
  impl->index();
  return File(std::move(impl));
}

bool File::has_data() const { return !impl_->described; }
const std::string& File::path() const { return impl_->path; }
std::uint32_t File::version() const { return impl_->parts.front().version; }
std::uint64_t File::file_bytes() const { return impl_->bytes; }
std::span<const Pair> File::metadata() const { return impl_->parts.front().metadata; }
std::span<const Tensor> File::tensors() const { return impl_->tensors; }

const Value* File::find(std::string_view key) const {
  const auto found = impl_->values_by_key.find(key);
  return found == impl_->values_by_key.end() ? nullptr : found->second;
}

const Tensor* File::find_tensor(std::string_view name) const {
  const auto found = impl_->tensors_by_name.find(name);
  return found == impl_->tensors_by_name.end() ? nullptr : found->second;
}

std::uint64_t File::integer(std::string_view key, std::uint64_t fallback) const {
  const Value* value = find(key);
  return value == nullptr ? fallback : to_unsigned(*value, key, path());
}

double File::number(std::string_view key, double fallback) const {
  const Value* value = find(key);
  return value == nullptr ? fallback : to_number(*value, key, path());
}

bool File::boolean(std::string_view key, bool fallback) const {
  const Value* value = find(key);
  return value == nullptr ? fallback : to_boolean(*value, key, path());
}

std::string File::string(std::string_view key, std::string_view fallback) const {
  const Value* value = find(key);
  return value == nullptr ? std::string(fallback) : to_string(*value, key, path());
}

const std::vector<std::string>* File::strings(std::string_view key) const {
  const Value* value = find(key);
  return value == nullptr ? nullptr : &to_strings(*value, key, path());
}

std::vector<float> File::floats(std::string_view key) const {
  const Value* value = find(key);
  return value == nullptr ? std::vector<float>() : to_floats(*value, key, path());
}

std::vector<std::int32_t> File::integers(std::string_view key) const {
  const Value* value = find(key);
  return value == nullptr ? std::vector<std::int32_t>() : to_integers(*value, key, path());
}

std::uint64_t File::required_integer(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) {
    fail(Code::bad_file, "{}: metadata '{}' is missing, without which the model cannot be run; convert or download it again", path(),
         escaped(key));
  }
  return to_unsigned(*value, key, path());
}

std::string File::fingerprint() const {
  Hash hash;
  std::vector<std::byte> buffer;
  for (const Part& part : impl_->parts) {
    hash.add(part.file ? part.file->size() : 0);
    if (part.file) {
      hash.add(Bytes(part.file, 0, part.header_bytes).view(0, part.header_bytes, buffer));
    } else {
      hash.add(std::span<const std::byte>());
    }
  }
  if (impl_->described) {  // its name says which shapes and types
    hash.add(std::as_bytes(std::span(impl_->path)));
    return fmt::format("{:016x}", hash.value());
  }
  // A few places in every tensor, not all of it: a file of gigabytes would otherwise be read from disk for its name alone.
  constexpr std::uint64_t sample_bytes = 64, sample_count = 4;
  for (const Tensor& tensor : std::span(impl_->tensors).first(impl_->own_tensors)) {
    const std::uint64_t length = std::min(sample_bytes, tensor.data.size()), room = tensor.data.size() - length;
    for (std::uint64_t i = 0; i < sample_count; ++i) hash.add(tensor.data.view(room / (sample_count - 1) * i, length, buffer));
    hash.add(tensor.data.view(room, length, buffer));
  }
  return fmt::format("{:016x}", hash.value());
}

const std::string& File::joined_fingerprint() const { return impl_->joined_fingerprint; }

void dequantize(const Tensor& tensor, std::span<float> out) {
  const Traits& t = traits(tensor.type);
  tensor.data.for_each_piece(t.bytes, [&](std::uint64_t at, std::span<const std::byte> piece) {
    dequantize(tensor.type, piece, out.subspan(at / t.bytes * t.block, piece.size() / t.bytes * t.block));
  });
}

}  // namespace skipstone::gguf
