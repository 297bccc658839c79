#include "convert/importance_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>

#include "base/input_file.h"
#include "base/status.h"
#include "gguf/gguf.h"
#include "gguf/writer.h"

namespace skipstone::convert {
namespace {

constexpr std::string_view sums_suffix = ".in_sum2", counts_suffix = ".counts";

void check_numbers(const std::vector<float>& numbers, const std::string& path, const std::string& tensor, const char* what) {
  const auto bad = std::ranges::find_if_not(numbers, [](float number) { return number >= 0.0f && std::isfinite(number); });
  if (bad == numbers.end()) return;
  fail(Code::bad_file, "{}: the importance of '{}' has a {} of {}, which cannot be; the file is damaged, or its measurement failed", path,
       gguf::escaped(tensor), what, *bad);
}

void add_entry(ImportanceMatrix& matrix, const std::string& path, const std::string& tensor, ImportanceMatrix::Entry entry) {
  if (entry.counts.empty() || entry.sums.empty() || entry.sums.size() % entry.counts.size() != 0) {
    fail(Code::bad_file, "{}: the importance of '{}' has {} sums for {} counts; the file is damaged", path, gguf::escaped(tensor),
         entry.sums.size(), entry.counts.size());
  }
  check_numbers(entry.sums, path, tensor, "sum of squares");
  check_numbers(entry.counts, path, tensor, "count");
  check_numbers(entry.means(), path, tensor, "mean square");
  matrix.entries[tensor] = std::move(entry);
}

std::vector<float> floats_of(const gguf::Tensor& tensor, const std::string& path) {
  if (tensor.type != gguf::Type::f32) {
    fail(Code::bad_file, "{}: tensor '{}' is of type {}; those of an importance matrix are F32", path, gguf::escaped(tensor.name),
         gguf::traits(tensor.type).name);
  }
  std::vector<float> numbers(static_cast<std::size_t>(tensor.elements()));
  gguf::dequantize(tensor, numbers);
  return numbers;
}

ImportanceMatrix read_gguf(const std::string& path) {
  const gguf::File file = gguf::File::open(path);
  ImportanceMatrix matrix;
  if (const auto* datasets = file.strings("imatrix.datasets")) matrix.datasets = *datasets;
  const auto number = [&](const char* key) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(file.integer(key, 0), UINT32_MAX));
  };
  matrix.chunks = number("imatrix.chunk_count");
  matrix.chunk_tokens = number("imatrix.chunk_size");
  for (const gguf::Tensor& tensor : file.tensors()) {
    if (!tensor.name.ends_with(sums_suffix)) continue;
    const std::string name = tensor.name.substr(0, tensor.name.size() - sums_suffix.size());
    const gguf::Tensor* counts = file.find_tensor(name + std::string(counts_suffix));
    if (counts == nullptr) {
      fail(Code::bad_file, "{}: the importance of '{}' has sums and no counts; the file is damaged", path, gguf::escaped(name));
    }
    add_entry(matrix, path, name, {floats_of(tensor, path), floats_of(*counts, path)});
  }
  if (matrix.entries.empty()) {
    fail(Code::bad_file, "{}: has no importance matrix in it (no tensor ends in {}); 'skipstone imatrix' makes such files", path,
         sums_suffix);
  }
  return matrix;
}

/// Reads the binary form from its beginning to its end.
class BinaryForm {
 public:
  BinaryForm(std::string bytes, const std::string& path) : bytes_(std::move(bytes)), path_(path) {}

  ImportanceMatrix read() {
    ImportanceMatrix matrix;
    const std::size_t entries = count("number of entries");
    for (std::size_t i = 0; i < entries; ++i) {
      const std::string tensor(take(count("length of a name")));
      const std::int32_t calls = integer();
      std::vector<float> sums;
      const std::string_view numbers = take(sizeof(float) * count("number of values"));
      sums.resize(numbers.size() / sizeof(float));
      std::memcpy(sums.data(), numbers.data(), numbers.size());
      add_entry(matrix, path_, tensor, {std::move(sums), {static_cast<float>(std::max(calls, 1))}});
    }
    // What follows is missing in the oldest files.
    if (bytes_.size() - at_ < 2 * sizeof(std::int32_t)) return matrix;
    matrix.chunks = static_cast<std::uint32_t>(std::max(integer(), 0));
    if (const std::int32_t length = integer(); length > 0) matrix.datasets.emplace_back(take(static_cast<std::size_t>(length)));
    return matrix;
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size() - at_) {
      fail(Code::bad_file, "{}: is no importance matrix: neither a GGUF file nor a whole one of llama-imatrix's binary form", path_);
    }
    const std::string_view taken = std::string_view(bytes_).substr(at_, size);
    at_ += size;
    return taken;
  }
  std::int32_t integer() {
    std::int32_t number;
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return number;
  }
  std::size_t count(const char* what) {
    const std::int32_t number = integer();
    if (number < 1) fail(Code::bad_file, "{}: is no importance matrix: the {} is {}", path_, what, number);
    return static_cast<std::size_t>(number);
  }

  std::string bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<float> ImportanceMatrix::Entry::means() const {
  std::vector<float> means(sums.size());
  const std::size_t inputs = sums.size() / counts.size();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const float count = counts[i / inputs];
    means[i] = count > 0.0f ? sums[i] / count : 1.0f;
  }
  return means;
}

ImportanceMatrix read_importance_matrix(const std::string& path) {
  constexpr std::string_view magic = "GGUF";
  const InputFile file(path);
  std::array<char, magic.size()> begin{};
  if (file.size() >= begin.size()) file.read(0, std::as_writable_bytes(std::span(begin)));
  if (std::string_view(begin.data(), begin.size()) == magic) return read_gguf(path);
  return BinaryForm(read_whole_file(path, UINT32_MAX), path).read();
}

void write_importance_matrix(const ImportanceMatrix& matrix, const std::string& path) {
  gguf::Writer writer;
  writer.set("general.type", std::string("imatrix"));
  writer.set_strings("imatrix.datasets", matrix.datasets);
  writer.set("imatrix.chunk_count", matrix.chunks);
  writer.set("imatrix.chunk_size", matrix.chunk_tokens);
  for (const auto& each : matrix.entries) {
    const auto& entry = each.second;
    const std::uint64_t matrices = entry.counts.size();
    const std::array<std::uint64_t, 2> sums{entry.sums.size() / matrices, matrices}, counts{1, matrices};
    const std::size_t dimensions = matrices > 1 ? 2 : 1;  // ggml drops trailing dimensions of 1
    const auto add = [&](std::string_view suffix, std::span<const std::uint64_t> shape, const std::vector<float>& numbers) {
      writer.add_tensor(each.first + std::string(suffix), gguf::Type::f32, shape.first(dimensions), std::span<const float>(numbers));
    };
    add(sums_suffix, sums, entry.sums);
    add(counts_suffix, counts, entry.counts);
  }
  writer.write(path);
}

}  // namespace skipstone::convert
