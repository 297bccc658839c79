// Parameters of stage commands as bytes: written by the first stage, read by all others. Both run the same build (the ranks of a job
// compare it), so words are in the machine's representation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/pipelines.h"
#include "exec/runner.h"

namespace skipstone::exec {

/// The pages of a sequence in a message.
struct SentPages {
  ByKind<std::vector<std::uint32_t>> pages;
  ByKind<std::uint32_t> released;
  /// Valid as long as this.
  PageLists lists() const;
};

/// Parameters of StageCommand::pass. Only the first stage has the tokens; the others know their number.
struct PassRequest {
  std::uint32_t runner = 0;  ///< the sequences of an engine share one; those whose passes run in slices have their own
  PassSpec spec;
  struct Sequence {
    std::vector<std::int32_t> tokens;  ///< zeros
    std::vector<std::uint32_t> parents;
    std::uint32_t base = 0, kept = 0;
    KeyWindow window = {};
    SentPages pages;
  };
  std::vector<Sequence> sequences;

  /// The rows as Runner::run() takes them; valid as long as this request.
  std::vector<SequenceRows> rows() const;
};

/// Parameters of StageCommand::move.
struct MoveRequest {
  std::uint32_t runner = 0, base = 0;
  std::vector<std::uint32_t> path;
  SentPages pages;
};

/// Parameters of StageCommand::prepare.
struct PrepareRequest {
  SessionPasses needs;
  SentPages pages;  ///< of no text
};

/// Parameters of StageCommand::resize (`to` pages) and StageCommand::copy (a page to another).
struct PagesRequest {
  MemoryKind kind = MemoryKind::full;
  std::uint32_t from = 0, to = 0;
  vk::Shortage shortage = vk::Shortage::makes_room;  ///< of resize
};

/// Parameters of StageCommand::read_kv and StageCommand::write_kv.
struct KvRequest {
  std::uint32_t layer = 0, positions = 0;
  SentPages pages;
};

std::vector<std::byte> pass_request(std::uint32_t runner, const PassSpec& spec, std::span<const SequenceRows> sequences);
std::vector<std::byte> move_request(std::uint32_t runner, std::uint32_t base, std::span<const std::uint32_t> path, const PageLists& pages);
std::vector<std::byte> pages_request(const PagesRequest& request);
std::vector<std::byte> kv_request(std::uint32_t layer, std::uint32_t positions, const PageLists& pages);
std::vector<std::byte> runner_request(std::uint32_t runner);
std::vector<std::byte> prepare_request(const SessionPasses& needs, const PageLists& pages);

/// Throw internal if the bytes are no such request.
PassRequest pass_request(std::span<const std::byte> bytes);
MoveRequest move_request(std::span<const std::byte> bytes);
PagesRequest pages_request(std::span<const std::byte> bytes);
KvRequest kv_request(std::span<const std::byte> bytes);
std::uint32_t runner_request(std::span<const std::byte> bytes);
PrepareRequest prepare_request(std::span<const std::byte> bytes);

}  // namespace skipstone::exec
