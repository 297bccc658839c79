#include "cluster/message_bytes.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "base/status.h"

namespace skipstone::cluster {
namespace {

using exec::StageCommand;
using exec::StageMessage;

struct Header {
  std::uint32_t magic = 0x31474D53;  // "SMG1"
  std::uint8_t command = 0;
  std::array<std::uint8_t, 3> zero{};
  std::int32_t code = 0;
  std::uint32_t more_zero = 0;
  std::int64_t not_before = 0;
  std::uint64_t request = 0, rows = 0, cosines = 0, bytes = 0;  ///< elements
};
static_assert(sizeof(Header) == 56);

template <typename Value>
std::byte* put(std::byte* at, const std::vector<Value>& values) {
  if (!values.empty()) std::memcpy(at, values.data(), values.size() * sizeof(Value));
  return at + values.size() * sizeof(Value);
}

/// Throws where `rest` has less than `count` values; takes them from its front.
template <typename Value>
std::vector<Value> take(std::span<const std::byte>& rest, std::uint64_t count) {
  if (count > rest.size() / sizeof(Value))
    fail(Code::io, "a message between ranks says that it has {} values more than it has bytes for", count);
  std::vector<Value> values(static_cast<std::size_t>(count));
  const std::size_t size = values.size() * sizeof(Value);
  if (size > 0) std::memcpy(values.data(), rest.data(), size);
  rest = rest.subspan(size);
  return values;
}

}  // namespace

std::vector<std::byte> to_bytes(const StageMessage& message) {
  Header header;
  header.command = static_cast<std::uint8_t>(message.command);
  header.code = static_cast<std::int32_t>(message.code);
  header.not_before = message.not_before;
  header.request = message.request.size();
  header.rows = message.rows.size();
  header.cosines = message.cosines.size();
  header.bytes = message.bytes.size();
  const std::size_t size =
      sizeof(Header) + message.request.size() + (message.rows.size() + message.cosines.size()) * sizeof(float) + message.bytes.size();
  if (size > most_bytes)
    fail(Code::unsupported, "{} bytes for another rank are more than MPI sends at once; take a smaller context (--ctx)", size);
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), &header, sizeof(Header));
  put(put(put(put(bytes.data() + sizeof(Header), message.request), message.rows), message.cosines), message.bytes);
  return bytes;
}

StageMessage message_from(std::span<const std::byte> bytes) {
  Header header;
  const std::uint32_t magic = header.magic;
  if (bytes.size() < sizeof(Header)) fail(Code::io, "a message between ranks has {} bytes, less than its header", bytes.size());
  std::memcpy(&header, bytes.data(), sizeof(Header));
  if (header.magic != magic) fail(Code::io, "another rank sends what is no message of this version; start the same one everywhere");
  if (header.command > static_cast<std::uint8_t>(StageCommand::failed))
    fail(Code::io, "a message between ranks has the unknown stage command {}", header.command);
  if (header.code < 0 || header.code > static_cast<std::int32_t>(Code::internal))
    fail(Code::io, "a message between ranks has the unknown code {}", header.code);
  std::span<const std::byte> rest = bytes.subspan(sizeof(Header));
  StageMessage message{.command = static_cast<StageCommand>(header.command),
                       .code = static_cast<Code>(header.code),
                       .not_before = header.not_before,
                       .request = take<std::byte>(rest, header.request),
                       .rows = take<float>(rest, header.rows),
                       .cosines = take<float>(rest, header.cosines),
                       .bytes = take<std::byte>(rest, header.bytes)};
  if (!rest.empty()) fail(Code::io, "a message between ranks has {} bytes after its end", rest.size());
  return message;
}

}  // namespace skipstone::cluster
