// Generates answers with a session and a chat template.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/conversation_prompt.h"
#include "chat/dialogue.h"
#include "results/statistics.h"
#include "skipstone/chat.hpp"
#include "skipstone/grammar.hpp"
#include "skipstone/skipstone.hpp"

namespace cli::chat {

struct AnswerLimits {
  std::vector<std::string> stop;                          ///< texts that end an answer; they do not count in the reasoning
  std::uint32_t tokens = static_cast<std::uint32_t>(-1);  ///< of an answer
  std::optional<skipstone::Grammar> grammar = {};         ///< what the text of an answer fits
};

class SessionAnswerer : public Answerer {
 public:
  /// `chat_template`: as in skipstone_chat_params. `params.draft` is copied.
  SessionAnswerer(const skipstone::Engine& engine, const std::string& chat_template, const skipstone_session_params& params,
                  AnswerLimits limits);

  Turn answer(const Conversation& conversation, const std::function<bool(const Piece&)>& on_piece) override;
  std::size_t count(const Conversation& conversation) override { return prompt_.of(conversation).tokens.size(); }
  std::size_t context() const override { return engine_.info().context; }
  std::size_t trained_context() const override { return engine_.info().context_trained; }
  std::string model_name() const override { return engine_.info().model_name; }
  std::string drafter() const override { return draft_; }
  void set_drafter(const std::string& specification) override;
  bool reseed() override;
  std::string statistics() const override;

  /// Information about the template in use.
  skipstone_chat_info info() const { return chat_.info(); }
  /// Of the last answer.
  RunStatistics run_statistics() const;

  /// The tokens of the last turn: full prompt and answer.
  const std::vector<skipstone_token>& held() const { return held_; }

 private:
  std::vector<skipstone_token> unread(const std::vector<skipstone_token>& tokens);
  bool push(skipstone::ChatParser& parser, const skipstone_chunk& chunk, const skipstone::OnChatEvent& on_event) const;
  Turn turn_of(bool ended) const;
  void renew();
  void constrain(const std::string& prompt_end);

  skipstone::Engine engine_;
  skipstone::Chat chat_;
  ConversationPrompt prompt_;
  skipstone_session_params params_;
  std::string draft_;
  AnswerLimits limits_;
  std::optional<skipstone::Grammar> grammar_;  ///< of whole answers to prompts that end with prompt_end_
  std::string prompt_end_;
  std::vector<skipstone_token> end_tokens_;
  std::unique_ptr<skipstone::Session> session_;
  std::vector<skipstone_token> held_;  ///< tokens of the session's conversation
  bool answered_ = false, at_stop_text_ = false;
};

}  // namespace cli::chat
