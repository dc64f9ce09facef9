#!/bin/bash
# The arguments of Megatron-LM's example for 175B, in a script of our own.
GPUS_PER_NODE=8
NUM_NODES=16

LAUNCH=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
    --master_addr localhost
)

MODEL=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --attention-backend auto  # flash, fused, unfused, local
)

OTHERS=(
    --micro-batch-size 1
    --global-batch-size 1536
    --train-iters 500000
    --weight-decay 0.1
    --adam-beta1 0.9
    --fp16
    --lr 6.0e-5
    --lr-decay-style cosine
    --tensor-model-parallel-size 8
    --pipeline-model-parallel-size 16
    --data-path $1
    --vocab-file $2
    --split 949,50,1
    --log-interval 100
    --save-interval 10000
    --save $CHECKPOINT_PATH
    --eval-interval 1000
    --eval-iters 10
)

torchrun ${LAUNCH[@]} pretrain_gpt.py \
    ${MODEL[@]} \
    ${OTHERS[@]} \
    --tokenizer-type GPT2BPETokenizer
