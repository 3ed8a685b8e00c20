// Every model of tests/data from its file through the whole library, against what torch gave.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "cli/comparison.h"
#include "test_models.h"

namespace unfuse::cli {
namespace {

void expect_close(const Tensor& got, const Tensor& expected, const std::string& name) {
  const Comparison found = compare(got, expected, default_tolerance(expected.dtype()));
  EXPECT_TRUE(found.same_type) << name;
  EXPECT_EQ(found.mismatches, 0) << name << ": differs by up to " << found.largest_absolute
                                 << " (element " << found.where_absolute << ")";
}

void expect_torch_outputs(const Program& program, const std::vector<Tensor>& outputs,
                          const std::string& model) {
  const std::string file = tensors_file(model, "outputs");
  const auto expected = match_tensors(program.outputs(), tensor_io::read(file), file, "output");
  ASSERT_EQ(outputs.size(), expected.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    expect_close(outputs[i], expected[i], program.outputs()[i].name);
  }
}

bool same_bytes(const Tensor& left, const Tensor& right) {
  const Comparison found = compare(left, right, {0, 0});
  return found.matches();
}

class Models : public testing::TestWithParam<std::string> {};

TEST_P(Models, GiveWhatTorchGives) {
  const Program program = Program::load(model_file(GetParam()));
  EXPECT_EQ(program.report().partitions, 1);
  EXPECT_TRUE(program.report().left_to_torch.empty());
  const std::vector<Tensor> inputs = read_inputs(program, GetParam());
  expect_torch_outputs(program, program.run(inputs), GetParam());

  const std::string written = tensors_file(GetParam(), "written");
  if (!std::filesystem::exists(written)) return;
  for (const auto& [name, tensor] : tensor_io::read(written)) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (program.inputs()[i].name == name) expect_close(inputs[i], tensor, name);
    }
  }
}

TEST_P(Models, GiveTheSameOnOneThread) {
  CompileOptions options;
  options.threads = 1;
  const Program program = Program::load(model_file(GetParam()), options);
  expect_torch_outputs(program, program.run(read_inputs(program, GetParam())), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, Models, testing::ValuesIn(model_names()),
                         [](const auto& parameter) { return parameter.param; });

TEST(Program, TellsWhatWasOpened) {
  const Program program = Program::load(model_file("encoder_dynamic"));
  const auto& opened = program.report().opened;
  ASSERT_EQ(opened.count("aten._transformer_encoder_layer_fwd.default"), 1U);
  EXPECT_EQ(opened.at("aten._transformer_encoder_layer_fwd.default"), 2);
}

TEST(Program, TellsThatAFloatMaskIsReadAsBool) {
  const Program program = Program::load(model_file("encoder_layer_padding_float"));
  EXPECT_FALSE(program.report().notes.empty());
}

TEST(Program, NamesEveryOpThatItCannotRun) {
  try {
    Program::load(model_file(kUnsupportedModel));
    FAIL() << "it was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    const std::string text = error.what();
    EXPECT_NE(text.find("aten.fft_rfft.default"), std::string::npos) << text;
    EXPECT_NE(text.find("make_models.py:"), std::string::npos) << text;
  }
}

TEST(Program, RunsOtherSizesThanItWasExportedWith) {
  const Program program = Program::load(model_file("encoder_dynamic"));
  const TensorInfo& info = program.inputs().front();
  ASSERT_EQ(info.sizes.size(), 3U);
  EXPECT_FALSE(info.sizes[0].fixed());
  EXPECT_TRUE(info.sizes[2].fixed());

  // Sequences of a batch do not see each other: one at a time gives the same.
  const std::int64_t batch = 7, length = 33, width = info.sizes[2].minimum;
  const Tensor all = Tensor::empty(DType::kFloat32, {batch, length, width});
  for (std::int64_t i = 0; i < all.numel(); ++i) {
    all.data_as<float>()[i] = std::sin(static_cast<float>(i) * 0.37F);
  }
  const std::vector<Tensor> whole = program.run(std::vector{all});
  for (std::int64_t i = 0; i < batch; ++i) {
    const std::int64_t offset = i * length * width;
    const std::vector<std::int64_t> sizes = {1, length, width};
    const auto part = [&](const Tensor& tensor) {
      return Tensor::view(tensor.data_as<float>() + offset, DType::kFloat32, sizes,
                          contiguous_strides(sizes), tensor.storage());
    };
    const std::vector<Tensor> one = program.run(std::vector{part(all)});
    expect_close(one.front(), part(whole.front()), "sequence " + std::to_string(i));
  }
}

TEST(Program, TakesInputsOfAnyStrides) {
  const Program program = Program::load(model_file("encoder_layer"));
  const std::vector<Tensor> inputs = read_inputs(program, "encoder_layer");
  const Tensor& given = inputs.front();
  const auto& sizes = given.sizes();
  // The same elements, stored length-first.
  const Tensor turned = Tensor::empty(given.dtype(), {sizes[1], sizes[0], sizes[2]});
  for (std::int64_t b = 0; b < sizes[0]; ++b) {
    for (std::int64_t l = 0; l < sizes[1]; ++l) {
      std::memcpy(turned.data_as<float>() + (l * sizes[0] + b) * sizes[2],
                  given.data_as<float>() + (b * sizes[1] + l) * sizes[2],
                  static_cast<std::size_t>(sizes[2]) * sizeof(float));
    }
  }
  const Tensor strided = Tensor::view(turned.data(), given.dtype(), sizes,
                                      {sizes[2], sizes[0] * sizes[2], 1}, turned.storage());
  expect_torch_outputs(program, program.run(std::vector{strided}), "encoder_layer");
}

TEST(Program, RunsInManyThreadsAtOnce) {
  const Program program = Program::load(model_file("encoder_dynamic"));
  const std::vector<Tensor> inputs = read_inputs(program, "encoder_dynamic");
  const std::vector<Tensor> expected = program.run(inputs);
  const Tensor other = Tensor::empty(DType::kFloat32, {3, 9, inputs.front().sizes()[2]});
  std::memset(other.data(), 0, static_cast<std::size_t>(other.numel()) * sizeof(float));
  const std::vector<Tensor> expected_other = program.run(std::vector{other});

  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const bool first = (t + i) % 2 == 0;
        const std::vector<Tensor> got =
            first ? program.run(inputs) : program.run(std::vector{other});
        const Tensor& wanted = first ? expected.front() : expected_other.front();
        if (!same_bytes(got.front(), wanted)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Program, BuffersOfTheModelAreUpdated) {
  const Program program = Program::load(model_file("mutations"));
  const std::string file = tensors_file("mutations", "inputs");
  std::vector<std::int64_t> calls;
  for (int i = 0; i < 3; ++i) {
    const std::vector<Tensor> outputs = program.run(read_inputs(program, "mutations"));
    calls.push_back(*outputs.back().data_as<std::int64_t>());
  }
  EXPECT_EQ(calls, (std::vector<std::int64_t>{1, 2, 3}));
}

void expect_refused(const Program& program, const std::vector<Tensor>& inputs,
                    const std::vector<std::string>& words) {
  try {
    program.run(inputs);
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument) << error.what();
    for (const std::string& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << error.what() << " does not say " << word;
    }
  }
}

TEST(Program, NamesTheInputThatDoesNotFit) {
  const Program program = Program::load(model_file("encoder_dynamic"));
  expect_refused(program, {}, {"1"});
  expect_refused(program, {Tensor::empty(DType::kFloat64, {2, 5, 16})},
                 {"src", "float64", "float32"});
  expect_refused(program, {Tensor::empty(DType::kFloat32, {5, 16})}, {"src"});
  expect_refused(program, {Tensor::empty(DType::kFloat32, {2, 5, 17})}, {"src", "17", "16"});
  expect_refused(program, {Tensor::empty(DType::kFloat32, {65, 5, 16})}, {"src", "65", "64"});
}

}  // namespace
}  // namespace unfuse::cli
