// Messages between the devices of a pipeline of layers: they go around a ring, from the first stage through all others and back to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace skipstone::exec {

/// The command of a message to each stage that receives it.
enum class StageCommand : std::uint8_t {
  state,     ///< each stage adds a line about itself to `bytes` (engine/stage_host.h)
  load,      ///< load the layers that the request names
  prepare,   ///< make the pipelines that a session's passes need
  pass,      ///< run the stage's layers of a pass over `rows`, which become the rows to forward
  move,      ///< keep the path of a tree (Runner::move)
  resize,    ///< room for more pages
  copy,      ///< a page to another one
  read_kv,   ///< `bytes` become keys and values of a layer, if the stage has it
  write_kv,  ///< the reverse of read_kv
  forget,    ///< delete a runner
  end,       ///< the last message
  failed,    ///< no work: a stage has failed, with `code` and the sentence in `bytes`
};

struct StageMessage {
  StageCommand command = StageCommand::pass;
  Code code = Code::ok;
  std::int64_t not_before = 0;     ///< of the steady clock: time of arrival, including the delay of transfers
  std::vector<std::byte> request;  ///< parameters of the command (stage_request.h); unchanged on the way around
  std::vector<float> rows;         ///< of the residual stream, `padded(width)` each
  std::vector<float> cosines;      ///< as PassResults::cosine_sums
  std::vector<std::byte> bytes;    ///< keys and values of a layer, or a sentence
};

StageMessage failure(Code code, const std::string& sentence);

/// One direction between neighbours of the ring. One thread sends, one receives.
class Link {
 public:
  /// Every message takes `delay` longer to arrive, without blocking its sender: simulates a slower connection.
  explicit Link(std::chrono::microseconds delay) : delay_(delay) {}
  virtual ~Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void send(StageMessage message);
  /// Waits for the next message. Throws io if none can arrive any more.
  StageMessage receive();
  /// Whether receive() would return at once.
  bool ready();

 private:
  virtual void put(StageMessage message) = 0;
  virtual StageMessage take() = 0;
  virtual std::optional<StageMessage> try_take() = 0;

  std::chrono::microseconds delay_;
  std::optional<StageMessage> taken_;  ///< taken from the queue, not yet received
};

/// A link between threads of a process.
class QueueLink : public Link {
 public:
  using Link::Link;

 private:
  void put(StageMessage message) override;
  StageMessage take() override;
  std::optional<StageMessage> try_take() override;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<StageMessage> messages_;
};

}  // namespace skipstone::exec
