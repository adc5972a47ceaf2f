#include "weft/data/catalog/catalog_table.h"

namespace weft {
namespace {

constexpr KnownFile kFashionMnist[] = {
    {"train-images-idx3-ubyte", FileRole::kIdxImages, FileUse::kTrain, 60000,
     "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
    {"train-labels-idx1-ubyte", FileRole::kIdxLabels, FileUse::kTrain, 60000,
     "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
    {"t10k-images-idx3-ubyte", FileRole::kIdxImages, FileUse::kTest, 10000,
     "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
    {"t10k-labels-idx1-ubyte", FileRole::kIdxLabels, FileUse::kTest, 10000,
     "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
};

constexpr KnownFile kMnist[] = {
    {"train-images-idx3-ubyte", FileRole::kIdxImages, FileUse::kTrain, 60000, ""},
    {"train-labels-idx1-ubyte", FileRole::kIdxLabels, FileUse::kTrain, 60000, ""},
    {"t10k-images-idx3-ubyte", FileRole::kIdxImages, FileUse::kTest, 10000, ""},
    {"t10k-labels-idx1-ubyte", FileRole::kIdxLabels, FileUse::kTest, 10000, ""},
};

constexpr KnownFile kCifar10[] = {
    {"data_batch_1.bin", FileRole::kCifar10, FileUse::kTrain, 10000, ""},
    {"data_batch_2.bin", FileRole::kCifar10, FileUse::kTrain, 10000, ""},
    {"data_batch_3.bin", FileRole::kCifar10, FileUse::kTrain, 10000, ""},
    {"data_batch_4.bin", FileRole::kCifar10, FileUse::kTrain, 10000, ""},
    {"data_batch_5.bin", FileRole::kCifar10, FileUse::kTrain, 10000, ""},
    {"test_batch.bin", FileRole::kCifar10, FileUse::kTest, 10000, ""},
    {"batches.meta.txt", FileRole::kClassNames, FileUse::kBoth, 10, ""},
};

constexpr KnownFile kCifar100[] = {
    {"train.bin", FileRole::kCifar100, FileUse::kTrain, 50000, ""},
    {"test.bin", FileRole::kCifar100, FileUse::kTest, 10000, ""},
    {"fine_label_names.txt", FileRole::kClassNames, FileUse::kBoth, 100, ""},
};

constexpr KnownDownload kFashionMnistDownloads[] = {
    {"https://fashion-mnist.s3.eu-central-1.amazonaws.com/train-images-idx3-ubyte.gz", 26421880,
     "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
    {"https://fashion-mnist.s3.eu-central-1.amazonaws.com/train-labels-idx1-ubyte.gz", 29515,
     "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
    {"https://fashion-mnist.s3.eu-central-1.amazonaws.com/t10k-images-idx3-ubyte.gz", 4422102,
     "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
    {"https://fashion-mnist.s3.eu-central-1.amazonaws.com/t10k-labels-idx1-ubyte.gz", 5148,
     "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
};

// The page of its makers does not always give the files; PyTorch keeps copies.
constexpr KnownDownload kMnistDownloads[] = {
    {"https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz", 9912422,
     "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
    {"https://ossci-datasets.s3.amazonaws.com/mnist/train-labels-idx1-ubyte.gz", 28881,
     "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
    {"https://ossci-datasets.s3.amazonaws.com/mnist/t10k-images-idx3-ubyte.gz", 1648877,
     "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
    {"https://ossci-datasets.s3.amazonaws.com/mnist/t10k-labels-idx1-ubyte.gz", 4542,
     "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
};

constexpr KnownDownload kCifar10Downloads[] = {
    {"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", 170052171,
     "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
};

constexpr KnownDownload kCifar100Downloads[] = {
    {"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz", 168513733,
     "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"},
};

constexpr KnownFile kJargon[] = {
    {"jargon.dict", FileRole::kText, FileUse::kBoth, 0,
     "6c8118c277d0b00736d406d4941b77b69932d6ab125f7179ff88fe12939cc19e"},
};

constexpr KnownFile kDevil[] = {
    {"devil.dict", FileRole::kText, FileUse::kBoth, 0,
     "703d1225d2fb927653bfd8b00e4e96938e0b630c6023edd26702ac6ed50383f8"},
};

constexpr KnownFile kKjv[] = {
    {"kjv.txt", FileRole::kText, FileUse::kBoth, 0,
     "82fa5f3788c6a9a010fb128a0f0bf588984b5888a82058520620eded59b033ea"},
};

constexpr KnownDataset kKnown[] = {
    {.name = "fashion-mnist",
     .description = "70,000 grey images of clothes, 28x28, 10 classes",
     .package = "dataset-fashion-mnist",
     .package_folder = "/usr/share/datasets/fashion-mnist",
     .page = "https://github.com/zalandoresearch/fashion-mnist",
     .downloads = kFashionMnistDownloads,
     .files = kFashionMnist,
     .channels = 1,
     .side = 28,
     .classes = 10,
     .mean = {0.2860},
     .deviation = {0.3530}},
    {.name = "mnist",
     .description = "70,000 handwritten digits, 28x28, 10 classes",
     .page = "http://yann.lecun.com/exdb/mnist/",
     .downloads = kMnistDownloads,
     .files = kMnist,
     .channels = 1,
     .side = 28,
     .classes = 10,
     .mean = {0.1307},
     .deviation = {0.3081}},
    {.name = "cifar10",
     .description = "60,000 colour photographs, 32x32, 10 classes (binary version)",
     .subfolder = "cifar-10-batches-bin",
     .page = "https://www.cs.toronto.edu/~kriz/cifar.html",
     .downloads = kCifar10Downloads,
     .files = kCifar10,
     .channels = 3,
     .side = 32,
     .classes = 10,
     .mean = {0.4914, 0.4822, 0.4465},
     .deviation = {0.2470, 0.2435, 0.2616}},
    {.name = "cifar100",
     .description = "60,000 colour photographs, 32x32, 100 classes (binary version)",
     .subfolder = "cifar-100-binary",
     .page = "https://www.cs.toronto.edu/~kriz/cifar.html",
     .downloads = kCifar100Downloads,
     .files = kCifar100,
     .channels = 3,
     .side = 32,
     .classes = 100,
     .mean = {0.5071, 0.4865, 0.4409},
     .deviation = {0.2673, 0.2564, 0.2762}},
    {.name = "jargon",
     .description = "the Jargon File 4.4.7, 1.4 million characters of English, public domain",
     .package = "dict-jargon",
     .package_folder = "/usr/share/dictd",
     .files = kJargon},
    {.name = "devil",
     .description = "Bierce's Devil's Dictionary, 380,000 characters of English, public domain",
     .package = "dict-devil",
     .package_folder = "/usr/share/dictd",
     .files = kDevil},
    {.name = "kjv",
     .description = "the King James Bible of 1611, 4.3 million characters of English",
     .package = "bible-kjv",
     .command = "bible gen1:1-rev22:21",
     .files = kKjv},
};

}  // namespace

std::span<const KnownDataset> known_datasets() { return kKnown; }

}  // namespace weft
