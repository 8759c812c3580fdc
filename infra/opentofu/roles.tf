# Roles for service accounts. Studies may bring results and fetch them; removing (`dvc gc --cloud`) is
# a role of its own, for a person. Ray's nodes have none.
data "aws_caller_identity" "here" {}

locals {
  issuer_arn = "arn:aws:iam::${data.aws_caller_identity.here.account_id}:oidc-provider/${var.issuer}"
  prefixes   = ["dvc"]
  objects    = [for prefix in local.prefixes : "${aws_s3_bucket.results.arn}/${prefix}/*"]
}

data "aws_iam_policy_document" "study_trust" {
  statement {
    actions = ["sts:AssumeRoleWithWebIdentity"]
    principals {
      type        = "Federated"
      identifiers = [local.issuer_arn]
    }
    condition {
      test     = "StringEquals"
      variable = "${var.issuer}:sub"
      values   = ["system:serviceaccount:tomrl:tomrl"]
    }
    condition {
      test     = "StringEquals"
      variable = "${var.issuer}:aud"
      values   = ["sts.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "study" {
  statement {
    sid       = "List"
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.results.arn]
    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values   = [for prefix in local.prefixes : "${prefix}/*"]
    }
  }
  statement {
    sid       = "FetchAndBring"
    actions   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
    resources = local.objects
  }
}

resource "aws_iam_role" "study" {
  name               = "tomrl-study"
  assume_role_policy = data.aws_iam_policy_document.study_trust.json
}

resource "aws_iam_role_policy" "study" {
  role   = aws_iam_role.study.id
  policy = data.aws_iam_policy_document.study.json
}

data "aws_iam_policy_document" "remove" {
  statement {
    sid       = "Remove"
    actions   = ["s3:DeleteObject"]
    resources = local.objects
  }
}

resource "aws_iam_policy" "remove" {
  name        = "tomrl-remove"
  description = "For whoever runs dvc gc --cloud, beside what studies may"
  policy      = data.aws_iam_policy_document.remove.json
}
