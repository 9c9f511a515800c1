# frozen_string_literal: true

require "minitest/autorun"
require "open3"

class ConformanceTest < Minitest::Test
  CASSETTES = %w[text framing parallel-calls finish-reasons].map { |name| "gemini-api/#{name}" }

  def test_the_adapter_keeps_all_that_gemini_sent
    judge = ["uvx", "gemini-conformance", "judge", "serve: ruby program.rb", "--questions", "none"]
    output, status = Open3.capture2e(*judge, "--cassettes", *CASSETTES)
    assert_predicate status, :success?, output
  end
end
