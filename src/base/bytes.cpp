#include "base/bytes.h"

#include <algorithm>
#include <utility>

#include "base/input_file.h"
#include "base/status.h"

namespace skipstone {

Bytes::Bytes(std::shared_ptr<const InputFile> file, std::uint64_t offset, std::uint64_t size)
    : file_(std::move(file)), offset_(offset), size_(size) {
  if (size > file_->size() || offset > file_->size() - size) fail(Code::internal, "a part of {} lies outside it", file_->path());
}

std::span<const std::byte> Bytes::view(std::uint64_t offset, std::uint64_t count, std::vector<std::byte>& buffer) const {
  if (count > size_ || offset > size_ - count) fail(Code::internal, "bytes {} to {} of {} were asked for", offset, offset + count, size_);
  if (!file_) return {memory_ + offset, static_cast<std::size_t>(count)};
  if (buffer.size() < count) buffer.resize(static_cast<std::size_t>(count));
  const auto target = std::span(buffer).first(static_cast<std::size_t>(count));
  file_->read(offset_ + offset, target);
  return target;
}

std::vector<std::byte> Bytes::all() const {
  std::vector<std::byte> copy;
  const auto bytes = view(0, size_, copy);
  if (!file_) copy.assign(bytes.begin(), bytes.end());
  return copy;
}

bool operator==(const Bytes& a, const Bytes& b) {
  bool same = a.size() == b.size();
  std::vector<std::byte> buffer;
  if (same) a.for_each_piece(1, [&](std::uint64_t at, std::span<const std::byte> piece) {
      same = same && std::ranges::equal(piece, b.view(at, piece.size(), buffer));
    });
  return same;
}

}  // namespace skipstone
